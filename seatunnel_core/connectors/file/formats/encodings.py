"""The text encodings that Python knows."""

import codecs


def is_text_encoding(name: str) -> bool:
    """Return whether Python has an incremental codec of that name between text and bytes."""
    try:
        codecs.getincrementalencoder(name)().encode("a")
        codecs.getincrementaldecoder(name)().decode(b"")
    except (LookupError, TypeError, ValueError):
        return False
    return True
