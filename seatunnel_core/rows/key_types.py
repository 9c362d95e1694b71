"""Types in which the keys of several tables are compared."""

import pyarrow as pa
import pyarrow.types as of


def comparable_type(type: pa.DataType) -> pa.DataType:
    """Return the type for comparing keys: ``int64`` for integers, except ``uint64``; otherwise the type itself."""
    return pa.int64() if of.is_integer(type) and type != pa.uint64() else type
