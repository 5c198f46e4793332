"""Unicode normalization of labels, so that labels that look the same are equal."""

import unicodedata

# Invisible characters: zero-width space, word joiner, byte-order mark. The zero-width joiner and
# non-joiner are kept because some scripts need them.
_TRANSLATION = {0x200B: None, 0x2060: None, 0xFEFF: None, 0xA0: " "}


def normalize_text(text: str) -> str:
    r"""Text in NFC form, without invisible characters and with no-break spaces as spaces.

    >>> normalize_text("Zoe\u0308\u200b\u00a0M") == "Zo\u00eb M"
    True
    """
    if text.isascii():
        return text
    return unicodedata.normalize("NFC", text.translate(_TRANSLATION))


def normalize_label(text: str) -> str:
    """Label of a table or vote: :func:`normalize_text` without surrounding whitespace."""
    return normalize_text(text).strip()


def split_labels(text: str, sep: str | None) -> list[str]:
    """Normalized labels in a text, including empty ones; without ``sep`` the text is one label.

    >>> split_labels(" anna |bob|", "|")
    ['anna', 'bob', '']
    """
    # Normalize before splitting: a separator such as " or " may contain no-break spaces.
    text = normalize_text(text)
    parts = text.split(normalize_text(sep)) if sep else [text]
    return [part.strip() for part in parts]
