"""The text of labels in one Unicode form, so that labels that look the same are the same."""

import unicodedata

# Characters that nobody sees: zero-width space, word joiner, byte-order mark. The zero-width
# joiner and non-joiner stay: some scripts need them.
_TRANSLATION = {0x200B: None, 0x2060: None, 0xFEFF: None, 0xA0: " "}


def normalize_text(text: str) -> str:
    r"""Text in form NFC, without invisible characters, with a space for a no-break space.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str

    Examples
    --------
    >>> from ambilearn._utils.label_text import normalize_text
    >>> normalize_text("Zoe\u0308\u200b\u00a0M") == "Zo\u00eb M"
    True
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.translate(_TRANSLATION))


def normalize_label(text: str) -> str:
    """A label as tables and votes have it: :func:`normalize_text` without blanks around it."""
    return normalize_text(text).strip()


def split_labels(text: str, sep: str | None) -> list[str]:
    """The labels in a text, normalized; empty ones stay, and without ``sep`` it is one label.

    Examples
    --------
    >>> from ambilearn._utils.label_text import split_labels
    >>> split_labels(" anna |bob|", "|")
    ['anna', 'bob', '']
    """
    # Before the text is split: a separator such as " or " may stand between no-break spaces.
    text = normalize_text(text)
    parts = text.split(normalize_text(sep)) if sep else [text]
    return [part.strip() for part in parts]
