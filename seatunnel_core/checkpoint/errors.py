"""What can go wrong inside the protocol itself.

::

    SeaTunnelError
    └── ProtocolError
        ├── IllegalEventError    an event that cannot happen now: a bug of the runtime; nothing was changed
        ├── RestoreRefusedError  what was asked to be restored is not there, or going back to it was not allowed
        └── StateFormatError     the bytes of a checkpoint are not a state that this version understands
"""

from seatunnel_core.errors import SeaTunnelError


class ProtocolError(SeaTunnelError):
    """The root of the protocol's errors."""


class IllegalEventError(ProtocolError):
    """The event does not fit the state. The state is as it was before."""


class RestoreRefusedError(ProtocolError):
    """A person asked for a restore that is not possible, or not without saying more; the message says which."""


class StateFormatError(ProtocolError):
    """A stored state cannot be understood. Its seal was intact, so another version or another program wrote it."""
