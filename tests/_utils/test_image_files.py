from PIL import Image

from ambilearn._utils.image_files import decoded_formats, is_image_file


def test_formats_that_run_another_program_are_left_out():
    found = set(decoded_formats())
    assert {"JPEG", "PNG", "GIF", "WEBP"} <= found
    assert set(Image.ID) - found == {"EPS", "WMF"}


def test_an_image_is_recognized_by_its_content(tmp_path, monkeypatch):
    Image.new("L", (40, 40)).save(tmp_path / "photo", format="TIFF")
    (tmp_path / "text.tif").write_text("P1 is not a bitmap\n")
    assert is_image_file(tmp_path / "photo")
    assert not is_image_file(tmp_path / "text.tif")
    assert not is_image_file(tmp_path / "nowhere.tif")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    assert is_image_file(tmp_path / "photo")
