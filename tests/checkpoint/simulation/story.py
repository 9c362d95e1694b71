"""What happened in a run, numbered, in sentences."""

from collections.abc import Iterable
from typing import Any

from seatunnel_core.checkpoint import commands, events
from seatunnel_core.work.unit import AttemptId, UnitAttempt

SILENT = (commands.SetTimer, commands.CancelTimer, commands.CheckpointTriggered, commands.RowsCommitted)
"""What says nothing that the next lines do not say."""


def said(trace: Iterable[tuple[int, str, Any]]) -> str:
    """One line for everything that somebody did or heard."""
    lines = [(at_ms, who, sentence(what)) for at_ms, who, what in trace if not isinstance(what, SILENT)]
    return "\n".join(f"{number:>4}. {at_ms:>7} ms  {who}: {what}" for number, (at_ms, who, what) in enumerate(lines, 1))


def sentence(what: Any) -> str:
    """An event is heard, a command is asked for, a text speaks for itself."""
    match what:
        case str():
            return what
        case events.CheckpointsListed(checkpoints=listed):
            return f"hears that {', '.join(str(info.ref) for info in listed) or 'nothing'} is stored"
        case events.CheckpointLoaded(state=state):
            return f"hears what {state.ref} says"
        case events.UnitFinished(task=task, attempt=AttemptId(unit=unit, epoch=epoch, number=attempt)):
            return f"hears that unit {unit} of {task} is finished (epoch {epoch}, attempt {attempt})"
        case events.UnitFailed(task=task, attempt=AttemptId(unit=unit, epoch=epoch, number=attempt)):
            return f"hears that unit {unit} of {task} failed (epoch {epoch}, attempt {attempt})"
        case events.CommitSucceeded(sink=sink, ids=ids):
            return f"hears that {sink} has published {', '.join(ids)}"
        case events.CommitFailed(sink=sink, committed=ids):
            return f"hears that {sink} failed after publishing {', '.join(ids) or 'nothing'}"
        case events.Enumerated(source=source, splits=splits):
            return f"hears that {source} has {len(splits)} splits"
        case commands.StoreCheckpoint(state=state):
            return f"has {state.ref} stored ({state.checkpoint_type.value})"
        case commands.RunUnit(task=task, attempt=UnitAttempt(unit=unit, number=attempt)):
            splits = ", ".join(str(split.index) for split in unit.splits)  # type: ignore[assignment]
            return f"has unit {unit.number} of {task} run, with the splits {splits} (attempt {attempt})"
        case commands.Commit(sink=sink, committables=committables, may_be_committed=again):
            ids = ", ".join(committable.id for committable in committables)  # type: ignore[assignment]
            return f"has {sink} publish {ids}{', perhaps again' if again else ''}"
        case commands.Complete(epoch=epoch):
            return f"has the sinks of epoch {epoch} complete"
        case commands.Sweep(epoch=epoch, final=final):
            return f"has everything swept that is staged {'up to' if final else 'before'} epoch {epoch}"
        case commands.EndPipeline(outcome=outcome, failure=failure):
            return f"ends: {outcome.value}{f' ({failure.message})' if failure else ''}"
        case _:
            return _plainly(what)


def _plainly(what: Any) -> str:
    """The name of anything else, with what it carries."""
    name = type(what).__name__
    carried = ", ".join(
        f"{key}={getattr(what, key)}" for key in getattr(what, "__match_args__", ()) or _fields(what) if key != "now_ms"
    )
    verb = "hears" if type(what).__module__ == events.__name__ else "says"
    return f"{verb} {name}({carried})"


def _fields(what: Any) -> list[str]:
    return [field.name for field in getattr(type(what), "__attrs_attrs__", ())]
