from PIL import Image

from ambilearn._utils.image_formats import decoded_formats


def test_formats_that_run_another_program_are_left_out():
    found = set(decoded_formats())
    assert {"JPEG", "PNG", "GIF", "WEBP"} <= found
    assert set(Image.ID) - found == {"EPS", "WMF"}
