"""Formats of image files that are shown or read."""

from pathlib import Path

# What browsers show.
IMAGE_ENDINGS = {".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp"}

# Pillow does not decode these itself: Ghostscript and Windows would run the file's commands.
_NOT_DECODED = {"EPS", "WMF"}


def decoded_formats() -> list[str]:
    """Formats that Pillow decodes without another program."""
    from PIL import Image

    Image.init()
    return [name for name in Image.ID if name not in _NOT_DECODED]


def is_image_file(path: Path) -> bool:
    """Whether a file is an image that Pillow decodes, whatever its name."""
    from PIL import Image

    try:
        with Image.open(path, formats=decoded_formats()):
            return True
    except Image.DecompressionBombError:  # an image that is very large
        return True
    except Exception:  # Pillow raises errors of many types for other files
        return False
