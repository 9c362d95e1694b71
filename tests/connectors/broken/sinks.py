"""Sinks that break one rule of the kit each: the example ``JsonLines`` with one thing changed."""

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from seatunnel_core.checkpoint.retraction import Retraction
from seatunnel_core.checkpoint.split import Committable
from seatunnel_core.connectors.sink import SinkPlace, SinkWriter, Staged, StagingPlace
from seatunnel_core.errors import CommitError, SinkError
from seatunnel_core.rows.batch import Batch, TableSchema

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "minimal_sink"))

from minimal_sink import PATH, JsonLines, Writer

Committables = Sequence[Committable]


class Honest(JsonLines):  # type: ignore[misc]
    """As the example is."""


class WritesAtOnce(Honest):
    """What a reader sees early he need not wait for."""

    def open_writer(self, schemas: Sequence[TableSchema], place: StagingPlace) -> SinkWriter:
        writer: SinkWriter = super().open_writer(schemas, place)
        write = writer.write

        def write_twice(batch: Batch) -> None:
            write(batch)
            with Path(self.options[PATH], "now.json").open("a") as file:
                file.writelines(f'{{"id": {row}}}\n' for row in batch.rows.column("id").to_pylist())

        writer.write = write_twice  # type: ignore[method-assign]
        return writer


class Copies(Honest):
    """What is staged is swept in the end anyway."""

    def commit(self, committables: Committables, place: SinkPlace, *, again: bool) -> None:
        for committable in committables:
            staged = self.staging(place, committable.epoch) / committable.body["name"]
            if not staged.exists():
                raise CommitError(f"{staged} is gone")
            number = sum(1 for _ in Path(self.options[PATH]).glob("*.json"))
            Path(self.options[PATH], f"{number}-{staged.name}").write_bytes(staged.read_bytes())


class BelievesItIsDone(Honest):
    """`again` says that it was done before."""

    def commit(self, committables: Committables, place: SinkPlace, *, again: bool) -> None:
        if not again:
            super().commit(committables, place, again=again)


class TakesAbsenceForSuccess(Honest):
    """What is not there any more has been published."""

    def commit(self, committables: Committables, place: SinkPlace, *, again: bool) -> None:
        super().commit(committables, place, again=True)


class ForgetsTheAttempt(Honest):
    """A unit has one number, and that names it."""

    def open_writer(self, schemas: Sequence[TableSchema], place: StagingPlace) -> SinkWriter:
        unit = f"{place.source_ordinal}-{place.epoch}-{place.unit}"
        return Writer(self.staging(place, place.epoch) / f"{place.sink_ordinal}~{unit}~.json")


class SweepsWhatIsFinished(Honest):
    """A file without a committable is still being written."""

    def sweep(self, place: SinkPlace, keep: frozenset[str], *, final: bool) -> int:
        return super().sweep(place, keep, final=True) if final else 0


class SweepsAllThatIsOld(Honest):
    """The epoch is over, and what lies in its folder with it."""

    def sweep(self, place: SinkPlace, keep: frozenset[str], *, final: bool) -> int:
        return super().sweep(place, frozenset(), final=final)  # type: ignore[no-any-return]


class ForgetsWhatIsCommitted(Honest):
    """What is committed needs no record any more once all that is old is swept."""

    def commit(self, committables: Committables, place: SinkPlace, *, again: bool) -> None:
        done = self._record.read_text().split() if again and self._record.exists() else []
        super().commit([each for each in committables if each.id not in done], place, again=False)
        self._record.write_text(" ".join([*done, *(each.id for each in committables)]))

    def sweep(self, place: SinkPlace, keep: frozenset[str], *, final: bool) -> int:
        self._record.unlink(missing_ok=True)
        return int(super().sweep(place, keep, final=final))

    @property
    def _record(self) -> Path:
        return Path(self.options[PATH], "commits")


class SweepsTooEarly(Honest):
    """A clean folder is a good beginning."""

    def sweep(self, place: SinkPlace, keep: frozenset[str], *, final: bool) -> int:
        return super().sweep(place, keep, final=True)  # type: ignore[no-any-return]


class SweepsForOthersToo(Honest):
    """Nobody else writes into this folder."""

    def sweep(self, place: SinkPlace, keep: frozenset[str], *, final: bool) -> int:
        found = [path for path in Path(self.options[PATH], ".seatunnel").rglob("*.json") if final]
        for path in found:
            path.unlink()
        return len(found) or super().sweep(place, keep, final=final)


class LeavesAbortsToTheSweep(Honest):
    """Something will clear up."""

    def open_writer(self, schemas: Sequence[TableSchema], place: StagingPlace) -> SinkWriter:
        writer: Any = super().open_writer(schemas, place)
        writer.abort = writer.file.close
        return writer  # type: ignore[no-any-return]


class ClearsNothing(Honest):
    """The last sweep took all that was staged, and empty folders hurt nobody."""

    def clear(self, place: SinkPlace) -> None:
        return


class SaysThatItTookBack(Honest):
    """It has no way to take rows back, so there is nothing to do."""

    def retract(self, place: SinkPlace, retraction: Retraction) -> int:
        return 0


class ProvesSomethingElse(Honest):
    """The driver looks where it would write."""

    def probe(self, place: SinkPlace, token: str) -> None:
        Path("/tmp", f"seatunnel-{token}").touch()
        Path("/tmp", f"seatunnel-{token}").unlink()

    def prove(self, place: SinkPlace, token: str) -> None:
        if not (self.staging(place, place.epoch) / token).exists():
            raise SinkError("the driver does not see what a task wrote")


class PublishesTheLatest(Honest):
    """The last one holds the newest rows."""

    def commit(self, committables: Committables, place: SinkPlace, *, again: bool) -> None:
        super().commit(committables[-3:], place, again=again)


class HasOneBuffer(Honest):
    """A task writes one unit after the other, so one buffer is enough."""

    batches: ClassVar[list[Batch]] = []

    def open_writer(self, schemas: Sequence[TableSchema], place: StagingPlace) -> SinkWriter:
        writer: SinkWriter = super().open_writer(schemas, place)
        write, finish = writer.write, writer.finish
        self.batches.clear()

        def write_all_and_finish() -> Staged:
            time.sleep(0.02)  # until a server has answered
            for batch in tuple(self.batches):
                write(batch)
            return finish()

        writer.write = self.batches.append  # type: ignore[method-assign]
        writer.finish = write_all_and_finish  # type: ignore[method-assign]
        return writer


class RemovesThenWrites(Honest):
    """Two steps, one after the other: nothing ever happens between two lines."""

    def commit(self, committables: Committables, place: SinkPlace, *, again: bool) -> None:
        for committable in committables:
            staged = self.staging(place, committable.epoch) / committable.body["name"]
            rows = None
            with suppress(FileNotFoundError):
                rows = staged.read_bytes()
                staged.unlink()
            if rows is not None:
                Path(self.options[PATH], f"{place.job_id}~{staged.name}").write_bytes(rows)
            elif not again:
                raise CommitError(f"{staged} is gone")
