"""Functions of users that give rows, as decorators keep them: ``@st.source`` and ``@st.transform``."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import frozen

if TYPE_CHECKING:
    import pyarrow as pa


@frozen(kw_only=True, slots=False, repr=False)
class RowGiver:
    """A function with what was said of its rows; for ``help`` and ``inspect`` it is still the function."""

    function: Callable[..., Any]
    schema: "Mapping[str, Any] | pa.Schema | None" = None
    """The columns of the rows; ``None`` if nobody has said them."""

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.function.__doc__)
        object.__setattr__(self, "__wrapped__", self.function)  # inspect.signature finds the parameters there

    @property
    def name(self) -> str:
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def place(self) -> str:
        """The function with its module, for messages."""
        return f"{self.function.__module__}:{getattr(self.function, '__qualname__', self.name)}"
