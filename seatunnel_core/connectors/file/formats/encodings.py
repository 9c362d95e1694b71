"""Which encodings there are."""

import codecs


def is_text_encoding(name: str) -> bool:
    """Whether Python has a codec of that name that makes bytes of text, piece by piece."""
    try:
        codecs.getincrementalencoder(name)().encode("a")
        codecs.getincrementaldecoder(name)().decode(b"")
    except (LookupError, TypeError, ValueError):
        return False
    return True
