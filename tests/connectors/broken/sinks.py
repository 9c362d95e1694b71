"""Sinks that break one rule of the kit each: the example ``JsonLines`` with one thing changed."""

import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

from attrs import evolve

from seatunnel_core.connector_api.sink import SinkContext, SinkWriter, Staged, WriterContext
from seatunnel_core.errors import CommitError, SinkError
from seatunnel_core.rows.batch import Batch, TableSchema
from seatunnel_core.work.committable import Committable
from seatunnel_core.work.retraction import Retraction

sys.path.insert(0, str(Path(__file__).parents[3] / "examples" / "minimal_sink"))

from minimal_sink import PATH, JsonLines, Writer

Committables = Sequence[Committable]


class Honest(JsonLines):
    """As the example is."""


class WritesAtOnce(Honest):
    """Readers benefit if rows are visible early."""

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        writer: SinkWriter = super().open_writer(schemas, context)
        write = writer.write

        def write_twice(batch: Batch) -> None:
            write(batch)
            with Path(self.options[PATH], "now.json").open("a") as file:
                file.writelines(f'{{"id": {row}}}\n' for row in batch.rows.column("id").to_pylist())

        writer.write = write_twice  # type: ignore[method-assign]
        return writer


class Copies(Honest):
    """Staged output can remain after publishing, because it is swept later."""

    def commit(self, committables: Committables, context: SinkContext, *, may_be_committed: bool) -> None:
        for committable in committables:
            staged = self.staging(context, committable.epoch) / committable.body["name"]
            if not staged.exists():
                raise CommitError(f"{staged} is gone")
            number = sum(1 for _ in Path(self.options[PATH]).glob("*.json"))
            Path(self.options[PATH], f"{number}-{staged.name}").write_bytes(staged.read_bytes())


class BelievesItIsDone(Honest):
    """`may_be_committed` means that the commit was done before."""

    def commit(self, committables: Committables, context: SinkContext, *, may_be_committed: bool) -> None:
        if not may_be_committed:
            super().commit(committables, context, may_be_committed=may_be_committed)


class TakesAbsenceForSuccess(Honest):
    """Missing staged output has always been published."""

    def commit(self, committables: Committables, context: SinkContext, *, may_be_committed: bool) -> None:
        super().commit(committables, context, may_be_committed=True)


class LooksOnlyWhereItIsTold(Honest):
    """If nothing is staged, all output has been published."""

    def commit(self, committables: Committables, context: SinkContext, *, may_be_committed: bool) -> None:
        there = [each for each in committables if self.staging(context, each.epoch).is_dir()]
        super().commit(there if may_be_committed else committables, context, may_be_committed=may_be_committed)


class CreatesWhatIsMissing(Honest):
    """A missing folder is created."""

    def prepare(self, context: SinkContext) -> None:
        super().prepare(evolve(context, prepared_in=0))


class CreatesTheTableAgain(Honest):
    """A missing table is created."""

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        Path(self.options[PATH], "table").mkdir(exist_ok=True)

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        writer: SinkWriter = super().open_writer(schemas, context)
        finish = writer.finish
        writer.finish = lambda: evolve(finish(), tables={"table": ""})  # type: ignore[method-assign]
        return writer


class PublishesWhereItIsTold(Honest):
    """The committable contains the staged location, and the current options determine the target."""

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        writer: SinkWriter = super().open_writer(schemas, context)
        finish, folder = writer.finish, str(self.staging(context, context.epoch))

        def finish_with_folder() -> Staged:
            staged = finish()
            return evolve(staged, body={**staged.body, "folder": folder})

        writer.finish = finish_with_folder  # type: ignore[method-assign]
        return writer

    def commit(self, committables: Committables, context: SinkContext, *, may_be_committed: bool) -> None:
        for each in committables:
            staged = Path(each.body["folder"], each.body["name"])
            if staged.exists():
                staged.rename(Path(self.options[PATH], f"{context.job_id}~{context.pipeline_id}~{staged.name}"))
            elif not may_be_committed:
                raise CommitError(f"{staged} is gone")


class SweepsForItsPipeline(Honest):
    """A pipeline has only one sink."""

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        found = list(self.staging(context, 0).parent.glob("*/*.json")) if final else []
        for path in found:
            path.unlink()
        return len(found) or super().sweep(context, keep, final=final)


class ForgetsTheAttempt(Honest):
    """The number of a unit is sufficient for its name."""

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        unit = f"{context.source_ordinal}-{context.epoch}-{context.unit}"
        return Writer(self.staging(context, context.epoch) / f"{context.sink_ordinal}~{unit}~.json")


class SweepsWhatIsFinished(Honest):
    """A file without a committable is still being written."""

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        return super().sweep(context, keep, final=True) if final else 0


class SweepsAllThatIsOld(Honest):
    """All files of an ended epoch can be removed."""

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        return super().sweep(context, frozenset(), final=final)


class ForgetsWhatIsCommitted(Honest):
    """Commit records can be removed after the sweep."""

    def commit(self, committables: Committables, context: SinkContext, *, may_be_committed: bool) -> None:
        done = self._record.read_text().split() if may_be_committed and self._record.exists() else []
        super().commit([each for each in committables if each.id not in done], context, may_be_committed=False)
        self._record.write_text(" ".join([*done, *(each.id for each in committables)]))

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        self._record.unlink(missing_ok=True)
        return int(super().sweep(context, keep, final=final))

    @property
    def _record(self) -> Path:
        return Path(self.options[PATH], "commits")


class SweepsTooEarly(Honest):
    """The staging folder should be empty at the start."""

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        return super().sweep(context, keep, final=True)


class SweepsAllButItsOwn(Honest):
    """All output of other epochs is old."""

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        folder = self.staging(context, context.epoch)
        for path in folder.parent.glob("*/*.json"):
            if path.parent != folder and int(path.parent.name) > context.epoch:
                path.unlink()
        return super().sweep(context, keep, final=final)


class ShowsWhatIsStaged(Honest):
    """Staged output counts as published."""

    def published(self, context: SinkContext) -> list[str]:
        names = [
            path.name.split("~") for path in Path(self.options[PATH], ".seatunnel", context.job_id).rglob("*.json")
        ]
        return [name[1] for name in names]


class SweepsForOthersToo(Honest):
    """No other job writes to this folder."""

    def sweep(self, context: SinkContext, keep: frozenset[str], *, final: bool) -> int:
        found = [path for path in Path(self.options[PATH], ".seatunnel").rglob("*.json") if final]
        for path in found:
            path.unlink()
        return len(found) or super().sweep(context, keep, final=final)


class LeavesAbortsToTheSweep(Honest):
    """The sweep removes the output of aborted writers."""

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        writer: Any = super().open_writer(schemas, context)
        writer.abort = writer.file.close
        return writer


class ClearsNothing(Honest):
    """The last sweep removes all staged output, and empty folders do no harm."""

    def clear(self, context: SinkContext) -> None:
        return


class SaysThatItTookBack(Honest):
    """A sink that cannot roll back rows can ignore the request."""

    def roll_back(self, context: SinkContext, retraction: Retraction) -> int:
        return 0


class ProvesSomethingElse(Honest):
    """The driver checks the location to which it would write."""

    def probe(self, context: SinkContext, token: str) -> None:
        Path("/tmp", f"seatunnel-{token}").touch()
        Path("/tmp", f"seatunnel-{token}").unlink()

    def prove(self, context: SinkContext, token: str) -> None:
        if not (self.staging(context, context.epoch) / token).exists():
            raise SinkError("the driver does not see what a task wrote")


class PublishesTheLatest(Honest):
    """The last committable contains the newest rows, so only this one is published."""

    def commit(self, committables: Committables, context: SinkContext, *, may_be_committed: bool) -> None:
        super().commit(committables[-3:], context, may_be_committed=may_be_committed)


class HasOneBuffer(Honest):
    """A task writes one unit after the other, so one buffer is sufficient."""

    batches: ClassVar[list[Batch]] = []

    def open_writer(self, schemas: Sequence[TableSchema], context: WriterContext) -> SinkWriter:
        writer: SinkWriter = super().open_writer(schemas, context)
        write, finish = writer.write, writer.finish
        self.batches.clear()

        def write_all_and_finish() -> Staged:
            time.sleep(0.02)  # until a server has answered
            for batch in tuple(self.batches):
                write(batch)
            return finish()

        writer.write = self.batches.append  # type: ignore[assignment, method-assign]
        writer.finish = write_all_and_finish  # type: ignore[method-assign]
        return writer


class RemovesThenWrites(Honest):
    """Two consecutive steps are never interrupted."""

    def commit(self, committables: Committables, context: SinkContext, *, may_be_committed: bool) -> None:
        for committable in committables:
            staged = self.staging(context, committable.epoch) / committable.body["name"]
            rows = None
            with suppress(FileNotFoundError):
                rows = staged.read_bytes()
                staged.unlink()
            if rows is not None:
                Path(self.options[PATH], f"{context.job_id}~{staged.name}").write_bytes(rows)
            elif not may_be_committed:
                raise CommitError(f"{staged} is gone")


class SaysNothingOfItsTarget(Honest):
    """Committables do not depend on the path."""

    @property
    def bound_to(self) -> Mapping[str, str]:
        return {}


class Emptying(Honest):
    """As the example could be with a save mode that keeps its rules: what goes is moved behind a fence, which a newer
    engine takes away before it publishes anything."""

    def prepare(self, context: SinkContext) -> None:
        super().prepare(context)
        self._fence(context).mkdir(parents=True, exist_ok=True)
        for fence in self._fence(context).parent.iterdir():
            if int(fence.name) < context.epoch:
                shutil.rmtree(fence)

    def apply_save_mode(self, context: SinkContext) -> None:
        try:
            for file in Path(self.options[PATH]).glob("*.json"):
                file.rename(self._fence(context) / file.name)
        except FileNotFoundError as error:
            raise SinkError("another engine has taken over the job") from error

    def clear(self, context: SinkContext) -> None:
        super().clear(context)
        shutil.rmtree(self._fence(context).parent, ignore_errors=True)

    def _fence(self, context: SinkContext) -> Path:
        return Path(self.options[PATH], ".seatunnel", context.job_id, "fence", str(context.epoch))


class EmptiesForEachPipeline(Emptying):
    """Each pipeline has its own target."""

    defers_save_mode = True

    def create_tables(self, schemas: Sequence[TableSchema], context: SinkContext) -> None:
        if not getattr(self, "emptied", False):
            Emptying.apply_save_mode(self, context)
        self.emptied = True

    def apply_save_mode(self, context: SinkContext) -> None:
        """The table is not known yet."""


class EmptiesWithoutAFence(Honest):
    """A job is never started twice."""

    def apply_save_mode(self, context: SinkContext) -> None:
        for file in Path(self.options[PATH]).glob("*.json"):
            file.unlink()
