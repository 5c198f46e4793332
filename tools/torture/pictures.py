"""Damaged images in every format that Pillow writes, and file names outside the folder."""

import io
import json
import re
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from hypothesis import strategies as st
from PIL import Image

from torture.commands import run_command
from torture.hostile import byte_edits, edit_bytes, encodable_texts
from torture.oracle import Defect, check_canary
from torture.samples import ROWS, csv_bytes
from torture.target import Target

MODES = ("RGB", "RGBA", "L", "1", "P", "F", "I;16")
SIZES = ((9, 7), (700, 5))  # embedded unchanged if browsers support the format; resized
SVG = "<svg xmlns='http://www.w3.org/2000/svg'><text>outside the folder</text></svg>"

Image.init()
# Without formats that Pillow cannot read (PDF), or only with an external program.
FORMATS = ("SVG", *sorted(Image.SAVE.keys() & Image.OPEN.keys() - {"BUFR", "GRIB", "HDF5", "WMF"}))


@cache
def picture_bytes(format: str, mode: str, size: tuple[int, int]) -> bytes:
    """Image in a format, of this mode and size or, if not supported, of others."""
    if format == "SVG":
        return SVG.encode()
    for each, (width, height) in product((mode, *MODES), (size, *SIZES)):
        pixels = bytes(i * 37 % 256 for i in range(width * height))
        file = io.BytesIO()
        try:
            Image.frombytes("L", (width, height), pixels).convert(each).save(file, format)
        except (OSError, ValueError):  # not supported by the format
            continue
        if file.getvalue():
            return file.getvalue()
    raise ValueError(f"Pillow cannot write {format}.")


# Names of an image outside the folder, as in a table.
_outside = st.sampled_from(
    ["../secret.svg", "a/../../secret.svg", "{outside}/secret.svg", "file://{outside}/secret.svg",
     "link.svg", "links/secret.svg", "file://{outside}/folder/../secret.svg", "./.././secret.svg"]
)  # fmt: skip
picture_cases = st.fixed_dictionaries(
    {
        "format": st.sampled_from(FORMATS),
        "mode": st.sampled_from(MODES),
        "size": st.sampled_from(SIZES),
        "ending": st.sampled_from(["", ".png", ".jpg", ".svg", ".tif"]),
        "edits": st.just([]) | byte_edits,
        "outside": _outside,
        "other": encodable_texts.filter(str.isprintable),
    }
)


def check_picture(case: dict[str, Any], folder: Path) -> bool:
    """The page is written and shows valid images; others are shown as problems."""
    inside = folder / "folder"
    inside.mkdir()
    (folder / "secret.svg").write_text(SVG)
    (inside / "link.svg").symlink_to(folder / "secret.svg")
    (inside / "links").symlink_to(folder)
    content = picture_bytes(case["format"], case["mode"], tuple(case["size"]))
    name = f"case{case['ending'] or '.' + case['format'].lower()}"
    (inside / name).write_bytes(edit_bytes(content, case["edits"]) if case["edits"] else content)
    (inside / "good.png").write_bytes(picture_bytes("PNG", "RGB", (9, 7)))
    outside = case["outside"].format(outside=folder.as_posix())
    names = [name, "good.png", outside, case["other"]]
    rows = [[*row[:2], cell, row[2]] for row, cell in zip(ROWS, names * 2, strict=True)]
    (inside / "table.csv").write_bytes(csv_bytes(["x", "town", "picture", "names"], rows))
    ended = run_command("review", inside / "table.csv", "--candidates", "names", "--image",
                        "picture", "--embed-images", "--out", folder / "review.html", "--method",
                        "plknn", "--set", "n_neighbors=2", "--fast")  # fmt: skip
    check_canary()
    if not ended.done:
        raise Defect("wrong", f"no page is written: {ended.err[-300:]}", "no page")
    return _check_images((folder / "review.html").read_text("utf-8"))


def _check_images(page: str) -> bool:
    """Whether the page shows the image of the case."""
    (data,) = re.findall(r'id="data">(.*?)</script>', page, re.DOTALL)
    found = [(row[4], row[7]) for row in json.loads(data)["rows"]]
    mine, good, outside, _ = found[:4]
    if not (good[0] or "").startswith("data:image/png;base64,"):
        raise Defect("wrong", f"a good picture is {good}", "good picture")
    if outside != (None, "outside the allowed folders"):
        raise Defect("executed", f"a picture outside the folder is {outside}", "outside")
    if (mine[0] is None) is (mine[1] is None):
        raise Defect("wrong", f"a picture is {mine}, neither shown nor rejected", "picture")
    return mine[0] is not None


TARGETS = [Target("pictures", "inputs", picture_cases, check_picture, share=6)]
