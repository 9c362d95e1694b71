"""Names of target files and folders, built from the patterns in the options."""

import base64
import datetime as dt
import re
import uuid
from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connector_api.errors import RowError, SinkError, UsageError
from seatunnel_core.connectors.filesystems.partition_folders import NULL_PARTITION, folder_value
from seatunnel_core.quantity import pick
from seatunnel_core.rows.date_format import strptime_format

_LONGEST_NAME = 255


def file_name(expression: str, time_format: str, unique: str, number: int, suffix: str) -> str:
    """Return the name of a file. It contains ``unique`` and the file's number, regardless of the pattern."""
    now = dt.datetime.now().strftime(strptime_format(time_format)) if "${now}" in expression else ""
    name = expression if "${transactionId}" in expression else "${transactionId}_" + expression
    for variable, value in (
        ("${transactionId}", f"{unique}-{number}"),
        ("${now}", now),
        ("${uuid}", uuid.uuid4().hex),
    ):
        name = name.replace(variable, value)
    if len((name + suffix).encode()) > _LONGEST_NAME:
        raise SinkError(f"the file name {name}{suffix} is longer than {_LONGEST_NAME} bytes: shorten the job's id")
    return name + suffix


def moment_pattern(time_format: str) -> str:
    """Return a regular expression that matches exactly the values of ``${now}``, and no part of a job's ID."""
    return re.sub("%[A-Za-z]", r"\\d{2}", re.escape(strptime_format(time_format)).replace("%Y", r"\d{4}"))


_ID = "A-Za-z0-9._-"
"""Characters of job IDs. ``another-job`` also ends with ``job``, but is the ID of a different job."""


def own_beginning(expression: str, time_format: str) -> str:
    """Return a regular expression for the string that may precede a job's ID in its file names.

    This is an empty string, a string from the current option, or a string from an older value of the option that ends
    with a character that IDs do not contain.
    """
    before = expression.partition("${transactionId}")[0] if "${transactionId}" in expression else ""
    said = re.escape(before).replace(re.escape("${now}"), moment_pattern(time_format))
    said = said.replace(re.escape("${uuid}"), "[0-9a-f]{32}")
    return f"(?:{said}|.*[^{_ID}]|)"


def check_expression(expression: str) -> None:
    """Raise ``UsageError`` if a file name pattern contains a folder or an unknown variable."""
    unknown = set(re.findall(r"\$\{[^}]*\}", expression)) - {"${transactionId}", "${now}", "${uuid}"}
    if unknown or "/" in expression or expression.startswith("."):
        problem = f"the variable {sorted(unknown)[0]}" if unknown else "a slash or a leading dot"
        raise UsageError(
            f"option 'file_name_expression': {expression!r} contains {problem}; use ${{transactionId}}, ${{now}}, "
            "${uuid}, table variables and plain text, and partition_by for folders"
        )


def folders(rows: pa.RecordBatch, keys: Sequence[str], expression: str) -> pa.Array:
    """Return the folder of each row, such as ``year=2013/month=1``; raise ``RowError`` if a name is too long."""
    first = pa.repeat("", rows.num_rows)  # An array among the parts, even if the pattern has no value.
    parts: list[pa.Array | str] = []
    begins = True
    for part in folder_parts(expression, keys):
        parts.append(part if isinstance(part, str) else _folder_values(rows.column(keys[part]), begins=begins))
        begins = isinstance(part, str) and (part.endswith("/") or (begins and not part))
    joined = pc.binary_join_element_wise(first, *parts, "").dictionary_encode()
    found = pa.array([_folder(name) for name in joined.dictionary.to_pylist()], pa.string())
    return found.take(joined.indices)


def _folder_values(values: pa.Array, *, begins: bool) -> pa.Array:
    encoded = _folder_texts(values).dictionary_encode()
    names = pa.array([folder_value(value, begins=begins) for value in encoded.dictionary.to_pylist()], pa.string())
    return names.take(encoded.indices).fill_null(NULL_PARTITION)


def _folder_texts(values: pa.Array) -> pa.Array:
    if pa.types.is_binary(values.type):
        return _base64(values)
    texts = values.cast(pa.string())
    return _with_seconds(values, texts) if pa.types.is_timestamp(values.type) and values.type.tz else texts


def _with_seconds(values: pa.Array, texts: pa.Array) -> pa.Array:
    """Format timestamps as strings, in UTC if the offset has seconds, which Arrow would drop."""
    moments = values.cast(pa.int64())
    offsets = pc.subtract(pc.local_timestamp(values).cast(pa.int64()), moments)
    minute = {"s": 60, "ms": 60_000, "us": 60_000_000, "ns": 60_000_000_000}[values.type.unit]
    whole = pc.equal(pc.multiply(pc.divide(offsets, minute), minute), offsets)
    return pc.if_else(whole, texts, values.cast(pa.timestamp(values.type.unit, "UTC")).cast(pa.string()))


def _base64(values: pa.Array) -> pa.Array:
    found = (None if value is None else base64.b64encode(value).decode("ascii") for value in values.to_pylist())
    return pa.array(found, pa.string())


def _folder(name: str) -> str:
    """Return a folder's path without the empty names that empty values cause: ``/x`` would start at the root."""
    folders = [folder for folder in name.split("/") if folder]
    longest = max(folders, key=lambda folder: len(folder.encode()), default="")
    if len(longest.encode()) > _LONGEST_NAME:
        raise RowError(
            f"partition_by: the folder {longest[:60]}… would have a name of {len(longest.encode())} bytes, "
            f"but a file system allows {_LONGEST_NAME}: choose a column with shorter values"
        )
    return "/".join(folders)


def folder_parts(expression: str, keys: Sequence[str]) -> list[str | int]:
    """Parse the pattern of partition folders into strings and indexes of keys."""
    if "/.../" in expression or "${kn}" in expression:
        expression = "/".join(f"${{k{number}}}=${{v{number}}}" for number in range(len(keys)))
    if set(expression.split("/")) & {".", ".."}:
        raise UsageError(f"partition_dir_expression {expression!r} leads to a different folder: remove . and ..")
    parts: list[str | int] = []
    for piece in re.split(r"(\$\{[kv]\d+\})", expression.strip("/")):
        found = re.fullmatch(r"\$\{([kv])(\d+)\}", piece)
        if found is None:
            parts.append(piece)
        elif int(found[2]) >= len(keys):
            raise UsageError(
                f"partition_dir_expression contains {piece}, but partition_by has only {pick(len(keys), 'column')}"
            )
        else:
            parts.append(folder_value(keys[int(found[2])]) if found[1] == "k" else int(found[2]))
    return parts


def split_path(path: str) -> tuple[str, str]:
    """Split a path into its fixed folder, and the rest with variables."""
    before, sign, _ = path.partition("${")
    if not sign:
        return path.rstrip("/") or "/", ""
    root = before.rpartition("/")[0] or "/"
    return root, path[len(root) :].strip("/")
