"""The names of target files and folders, from the patterns of the options."""

import datetime as dt
import re
import uuid
from collections.abc import Sequence
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from seatunnel_core.connectors.file.dialect import strptime_format
from seatunnel_core.errors import RowError, SinkError, UsageError

NULL_PARTITION = "__HIVE_DEFAULT_PARTITION__"
"""The folder value of rows whose partition column is null, as Hive writes it."""

_LONGEST_NAME = 255
_SAFE = " !$&'()+,;@~-._"


def file_name(expression: str, time_format: str, unique: str, number: int, suffix: str) -> str:
    """One file's name: whatever the pattern says, it contains ``unique`` and the file's number.

    Raises:
        SinkError: the name would be too long for a file system.
    """
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
    """The regular expression of what ``${now}`` becomes: no more than that, or it would take the beginning of another
    job's id for a part of the moment."""
    return re.sub("%[A-Za-z]", r"\\d{2}", re.escape(strptime_format(time_format)).replace("%Y", r"\d{4}"))


def check_expression(expression: str) -> None:
    """Judge a pattern from which the variables of tables are gone.

    Raises:
        UsageError: it names a folder, or a variable that does not exist.
    """
    unknown = set(re.findall(r"\$\{[^}]*\}", expression)) - {"${transactionId}", "${now}", "${uuid}"}
    if unknown or "/" in expression or expression.startswith("."):
        problem = f"the variable {sorted(unknown)[0]}" if unknown else "a slash or a dot at its beginning"
        raise UsageError(
            f"option 'file_name_expression': {expression!r} has {problem}; use ${{transactionId}}, ${{now}}, "
            "${uuid}, names of tables and plain text, and partition_by for folders"
        )


def folders(rows: pa.RecordBatch, keys: Sequence[str], expression: str) -> pa.Array:
    """The folder of each row, as an array of texts such as ``year=2013/month=1``.

    Raises:
        RowError: a folder's name would be too long for a file system.
    """
    encoded = []
    for key in keys:
        values = rows.column(key).cast(pa.string()).dictionary_encode()
        names = pa.array([folder_value(value) for value in values.dictionary.to_pylist()], pa.string())
        encoded.append(names.take(values.indices).fill_null(NULL_PARTITION))
    first = pa.repeat("", rows.num_rows)  # an array among the parts, also where the pattern names no value
    parts = (encoded[part] if isinstance(part, int) else part for part in folder_parts(expression, keys))
    joined = pc.binary_join_element_wise(first, *parts, "").dictionary_encode()
    found = pa.array([_folder(name) for name in joined.dictionary.to_pylist()], pa.string())
    return found.take(joined.indices)


def _folder(name: str) -> str:
    """The folders without those that an empty value leaves without a name: ``/x`` would be a path from the root."""
    folders = [folder for folder in name.split("/") if folder]
    longest = max(folders, key=lambda folder: len(folder.encode()), default="")
    if len(longest.encode()) > _LONGEST_NAME:
        raise RowError(
            f"partition_by: the folder {longest[:60]}… would have a name of {len(longest.encode())} bytes, and a file "
            f"system takes {_LONGEST_NAME}: choose a column with shorter values"
        )
    return "/".join(folders)


def folder_value(value: str | None) -> str:
    """A value as part of a folder's name; nothing in it can lead out of the folder, or hide it."""
    if value is None:
        return NULL_PARTITION
    escaped = quote(value, safe=_SAFE)
    return "%2E" + escaped[1:] if escaped.startswith(".") else escaped


def folder_parts(expression: str, keys: Sequence[str]) -> list[str | int]:
    """The pattern of a partition's folders as texts and numbers of keys.

    Raises:
        UsageError: it names a key that there is not, or leads out of the target.
    """
    if "/.../" in expression or "${kn}" in expression:
        expression = "/".join(f"${{k{number}}}=${{v{number}}}" for number in range(len(keys)))
    if set(expression.split("/")) & {".", ".."}:
        raise UsageError(f"partition_dir_expression {expression!r} leads to another folder: write no . and .. in it")
    parts: list[str | int] = []
    for piece in re.split(r"(\$\{[kv]\d+\})", expression.strip("/")):
        found = re.fullmatch(r"\$\{([kv])(\d+)\}", piece)
        if found is None:
            parts.append(piece)
        elif int(found[2]) >= len(keys):
            raise UsageError(f"partition_dir_expression names {piece}, but partition_by has {len(keys)} columns")
        else:
            parts.append(keys[int(found[2])] if found[1] == "k" else int(found[2]))
    return parts


def split_path(path: str) -> tuple[str, str]:
    """The fixed folder at the beginning of a path, and the rest, which has variables."""
    before, sign, _ = path.partition("${")
    if not sign:
        return path.rstrip("/") or "/", ""
    root = before.rpartition("/")[0] or "/"
    return root, path[len(root) :].strip("/")
