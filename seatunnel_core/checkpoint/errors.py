"""Errors of the protocol itself.

::

    SeaTunnelError
    └── ProtocolError
        ├── IllegalEventError    an event that is not legal in this phase: a bug in the runtime; nothing was changed
        ├── RestoreRefusedError  the requested state does not exist, or restoring it was not allowed
        └── StateFormatError     the bytes of a checkpoint are not a state that this version can read
"""

from seatunnel_core.errors import SeaTunnelError


class ProtocolError(SeaTunnelError):
    """The checkpoint protocol cannot continue, for a reason without a more specific code.

    What the engine did: the pipeline has ended; its stored checkpoints are unchanged.

    What to do: follow the message.
    """


class IllegalEventError(ProtocolError):
    """A pipeline received an event that is not legal in its current phase. This is a bug in the engine.

    What the engine did: the state and the stored checkpoints are unchanged.

    What to do: resume the job with `seatunnel -r JOB_ID`, and report it with the log (without its secrets).

    Message: epoch 3 was claimed; expected at least 100000
    """


class RestoreRefusedError(ProtocolError):
    """A state cannot be restored: it is missing or does not match the job, or rows could be lost or published twice.

    What the engine did: nothing was restored, rolled back or published.

    What to do: follow the message. `seatunnel help restore` describes what can be restored, what may change in a job,
    and what `--retract`, `--accept-duplicates` and `--allow-non-restored-state` do.

    Message: checkpoint 200000-7 does not exist. These can be restored: …
    """


class StateFormatError(ProtocolError):
    """A stored state cannot be read. Its checksum is intact, so another version or another program wrote it.

    What the engine did: it did not use the state, and changed nothing.

    What to do: run the version of the engine that wrote it, or a newer one; `seatunnel help versions` lists which
    version reads which state.

    Message: … has version 99, but this engine supports versions up to …: upgrade the engine
    """
