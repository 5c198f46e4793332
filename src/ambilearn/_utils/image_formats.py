"""Formats of image files that are shown or read."""

# What browsers show.
IMAGE_ENDINGS = {".avif", ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".svg", ".webp"}

# Pillow does not decode these itself: Ghostscript and Windows would run the file's commands.
_NOT_DECODED = {"EPS", "WMF"}


def decoded_formats() -> list[str]:
    """Formats that Pillow decodes without another program."""
    from PIL import Image

    Image.init()
    return [name for name in Image.ID if name not in _NOT_DECODED]
