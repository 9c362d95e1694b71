"""Conversion of Java's date patterns in connector options to Python's ``strptime`` directives."""

from seatunnel_core.errors import SourceError

_JAVA_PATTERNS = (
    ("yyyy", "%Y"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"), ("mm", "%M"), ("ss", "%S")
)  # fmt: skip


def strptime_format(java: str) -> str:
    """Convert Java's date pattern to ``strptime`` directives. Raise SourceError for unsupported letters."""
    found = java.replace("'", "")
    for letters, directive in _JAVA_PATTERNS:
        found = found.replace(letters, directive)
    rest = found
    for _, directive in _JAVA_PATTERNS:
        rest = rest.replace(directive, "")
    if any(letter.isalpha() and letter != "T" for letter in rest):
        raise SourceError(f"the format {java!r} is not supported; use yyyy MM dd HH mm ss, such as yyyy/MM/dd HH:mm:ss")
    return found
