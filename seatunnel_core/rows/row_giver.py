"""User functions that return rows, wrapped by the decorators ``@st.source`` and ``@st.transform``."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    import pyarrow as pa


@frozen(kw_only=True, slots=False, repr=False)
class RowGiver:
    """A function with the declaration of its rows. ``help`` and ``inspect`` treat it as the wrapped function."""

    function: Callable[..., Any]
    schema: "Mapping[str, Any] | pa.Schema | None" = None
    """Columns of the rows; ``None`` if not declared."""

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.function.__doc__)
        object.__setattr__(self, "__wrapped__", self.function)  # inspect.signature finds the parameters here

    @property
    def name(self) -> str:
        """Name of the function."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def place(self) -> str:
        """Module and name of the function, for messages."""
        return f"{self.function.__module__}:{getattr(self.function, '__qualname__', self.name)}"
