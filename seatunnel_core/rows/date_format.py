"""Java's patterns of dates, as the options of connectors have them, in the directives of Python's ``strptime``."""

from seatunnel_core.errors import SourceError

_JAVA_PATTERNS = (
    ("yyyy", "%Y"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"), ("mm", "%M"), ("ss", "%S")
)  # fmt: skip


def strptime_format(java: str) -> str:
    """Return a date format in Java's letters as one in the directives of ``strptime``.

    Raises:
        SourceError: it uses letters other than ``yyyy MM dd HH mm ss``.
    """
    found = java.replace("'", "")
    for letters, directive in _JAVA_PATTERNS:
        found = found.replace(letters, directive)
    rest = found
    for _, directive in _JAVA_PATTERNS:
        rest = rest.replace(directive, "")
    if any(letter.isalpha() and letter != "T" for letter in rest):
        raise SourceError(
            f"the format {java!r} is not understood; use yyyy MM dd HH mm ss, such as yyyy/MM/dd HH:mm:ss"
        )
    return found
