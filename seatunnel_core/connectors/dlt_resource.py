"""The ``Dlt`` source: runs a dlt resource unchanged in a task, without a dlt pipeline."""

import importlib
import inspect
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import pyarrow as pa
from attrs import frozen

from seatunnel_core.connector_api.batch import TableSchema
from seatunnel_core.connector_api.errors import SourceError
from seatunnel_core.connector_api.option import NESTED, OBJECT_NAME, STRING, Option, Options
from seatunnel_core.connectors.python_function import REPLAYABLE, SAMPLE, SCHEMA_BLOCK, PythonFunctionSource
from seatunnel_core.connectors.schema_options import COLUMN_NAMES, NESTING
from seatunnel_core.connectors.source_function import Row
from seatunnel_core.rows.python_rows import AT_ONCE
from seatunnel_core.work.names import repeated

PLACE = Option(
    "function",
    OBJECT_NAME,
    required=True,
    doc='dlt resource or source: "package.module:name" in a module that the driver and the tasks can import.',
)
ARGUMENTS = Option("arguments", NESTED, secret=True, doc="Keyword arguments of the call.")
RESOURCE = Option("resource", STRING, doc="Resource of a dlt source; required if the source has several.")


class DltSource(PythonFunctionSource):
    """After a failure, the resource is read again from its beginning."""

    identifier: ClassVar[str] = "Dlt"
    declared: ClassVar[tuple[Option[Any], ...]] = (
        PLACE,
        ARGUMENTS,
        RESOURCE,
        SCHEMA_BLOCK,
        SAMPLE,
        NESTING,
        COLUMN_NAMES,
        REPLAYABLE,
    )
    task_modules: tuple[str, ...] = ("dlt",)
    example: ClassVar[str] = 'function = "my_package.shop:orders", arguments { page_size = 100 }, replayable = true'

    def __init__(self, options: Options) -> None:
        super().__init__(options)
        self._has_name = self._schema is not None or bool(options.get("plugin_output"))
        self._said: Said | None = None

    def _given(self, options: Options) -> "DltRows":
        return DltRows(place=options[PLACE], arguments=options[ARGUMENTS] or {}, resource=options[RESOURCE])

    def planned_schemas(self) -> tuple[TableSchema, ...] | None:
        """Return the declared columns. The resource is also inspected, so that ``--check`` reports its errors."""
        self.require_input()
        return super().planned_schemas()

    def planned_reading(self) -> Sequence[str]:
        return self._resource.remarks

    def require_input(self) -> None:
        self._said = self._function.said()

    @property
    def _resource(self) -> "Said":
        """Properties of the resource, determined once in the driver or in a task."""
        if self._said is None:
            self._said = self._function.said()
        return self._said

    def _table_name(self) -> str:
        return self._table if self._has_name else self._resource.table

    def _key(self, columns: pa.Schema) -> tuple[str, ...]:
        key = self._resource.key
        lacking = [name for name in key if name not in columns.names]
        if lacking:
            raise SourceError(
                f"{self._function.place}: the primary_key of the resource contains {', '.join(lacking)}, but the "
                f"columns are {', '.join(columns.names)}; correct the primary_key, or declare a schema with a "
                "primaryKey"
            )
        return key


@frozen(kw_only=True)
class Said:
    """Properties of a resource that are known before it runs."""

    table: str
    key: tuple[str, ...]
    """Columns of the resource's ``primary_key``."""

    remarks: tuple[str, ...]
    """Descriptions of properties that have no effect in this engine."""


@frozen(kw_only=True, slots=False)
class DltRows:
    """A dlt resource that is sent to tasks by name."""

    place: str
    arguments: Mapping[str, Any]
    resource: str | None

    schema: None = None
    """Declared columns, as in ``SourceFunction``. Always ``None``."""

    replayable: None = None

    def planned_splits(self) -> list[Any]:
        """Return the only split."""
        return [None]

    def said(self) -> Said:
        """Return the properties of the resource. Raise SourceError if the resource is not supported."""
        resource = _only(self._opened({}))
        with self._named_errors():
            hints = resource.compute_table_schema()
        columns = hints.get("columns", {})
        return Said(
            table=hints["name"],
            key=tuple(name for name, hint in columns.items() if hint.get("primary_key")),
            remarks=tuple(_without_effect(hints)),
        )

    def rows(self, split: Any) -> Iterator[Row]:
        """Yield the rows. Errors of the resource keep their cause, with the resource's name in the message."""
        state: dict[str, Any] = {}
        source = self._opened(state)
        _only(source).add_map(self._refuse_table)
        with self._named_errors():
            with _state_of_dlt(state):
                items = iter(source)
            for item in items:
                self._refuse_state(state)
                yield from _rows_of(item)
        self._refuse_state(state)

    def _opened(self, state: dict[str, Any]) -> Any:
        """Return a new dlt source with only this resource. Raise SourceError if the resource is not supported."""
        found = self._imported()
        with self._named_errors(), _state_of_dlt(state):
            source = self._chosen(found(**self.arguments) if self._is_called(found) else found)
            wrong = unfit(source, made_once=not isinstance(found, extract().SourceFactory))
        if wrong:
            raise SourceError(f"{self.place}: the resource {_only(source).name!r} {wrong}")
        return source

    def _imported(self) -> Any:
        module, _, path = self.place.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except Exception as error:
            said = error if isinstance(error, ImportError | AttributeError) else f"{type(error).__name__}: {error}"
            raise SourceError(f"{self.place} cannot be imported: {said}") from error
        return found

    def _is_called(self, found: Any) -> bool:
        """Return True if the object must be called. Raise SourceError if it is not decorated by dlt."""
        if isinstance(found, extract().DltSource):
            if self.arguments:
                raise SourceError(
                    f"{self.place}: the object is already a source, so it takes no arguments; remove the arguments"
                )
            return False
        if isinstance(found, extract().DltResource):
            return bool(self.arguments)
        if not isinstance(found, extract().SourceFactory):
            raise SourceError(
                f"{self.place}: expected a resource or a source of dlt, found {type(found).__name__}; decorate a "
                "function that creates one with @dlt.source, or use the PythonFunction source for a function that "
                "yields rows"
            )
        return True

    def _chosen(self, made: Any) -> Any:
        """Return a dlt source that contains only the configured resource, created as in a dlt pipeline."""
        if isinstance(made, extract().DltResource):
            if self.resource not in (None, made.name):
                raise SourceError(
                    f"{self.place}: the object is the resource {made.name!r}, but the option resource is "
                    f"{self.resource!r}"
                )
            import dlt

            return extract().DltSource(dlt.Schema(made.source_name or "dlt"), made.section, [made])
        names = tuple(made.selected_resources)
        if self.resource is None and len(names) == 1:
            return made.with_resources(*names)
        if self.resource not in made.resources:
            said = "the option resource is missing" if self.resource is None else f"there is no {self.resource!r}"
            raise SourceError(
                f"{self.place}: {said}; set resource to one of {', '.join(names)}, and use a separate source for each"
            )
        return made.with_resources(self.resource)

    def _refuse_table(self, item: Any, meta: Any = None) -> Any:
        """Return an item unchanged; raise SourceError if ``dlt.mark`` sends it to another table or changes hints."""
        if meta is not None:
            raise SourceError(
                f"{self.place}: an item is marked with {type(meta).__name__}, which sends it to another table or "
                "changes its columns, but a resource has only one table in this engine; yield such items from a "
                "separate resource"
            )
        return item

    def _refuse_state(self, state: Mapping[str, Any]) -> None:
        if _has_values(state):
            raise SourceError(f"{self.place}: the resource {STATE}")

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """Add the resource's name to errors of the resource and of dlt. The engine's own errors are not changed."""
        try:
            yield
        except Exception as error:
            refused = next((each for each in _causes(error) if isinstance(each, SourceError)), None)
            if refused is not None:
                raise refused from refused.__cause__
            raised = _raised_by_resource(error)
            raise SourceError(f"{self.place} failed with {type(raised).__name__}: {raised}") from raised


def _only(source: Any) -> Any:
    (resource,) = source.selected_resources.values()
    return resource


@contextmanager
def _state_of_dlt(state: dict[str, Any]) -> Iterator[None]:
    """Make dlt keep the state of its resources in a given mapping."""
    from dlt.common.configuration.container import Container
    from dlt.common.pipeline import StateInjectableContext

    with Container().injectable_context(StateInjectableContext(state=state)):
        yield


def _has_values(state: Any) -> bool:
    """Return True if a state contains values. dlt adds an empty mapping for each key that is only read."""
    return any(map(_has_values, state.values())) if isinstance(state, Mapping) else True


def _without_effect(hints: Mapping[str, Any]) -> Iterator[str]:
    disposition = hints.get("write_disposition", "append")
    if disposition != "append":
        yield (
            f"write_disposition = {disposition} of the resource has no effect: the sink's write_mode determines "
            "the handling of existing rows"
        )
    typed = [name for name, hint in hints.get("columns", {}).items() if hint.get("data_type")]
    if typed:
        yield (
            f"type hints of the resource have no effect ({', '.join(typed)}): types come from the values, or from "
            "schema"
        )


def _rows_of(item: Any) -> Iterator[Row]:
    """Yield the rows of an item, which is a mapping or an Arrow-compatible table such as a DataFrame."""
    if not hasattr(item, "__arrow_c_stream__") and not isinstance(item, pa.RecordBatch):
        yield item
        return
    if isinstance(item, pa.RecordBatch):
        table = pa.Table.from_batches([item])
    else:
        table = pa.RecordBatchReader.from_stream(item).read_all()
    doubled = repeated(table.column_names)
    if doubled:
        raise SourceError(
            f"a table that the resource yields has two columns with the name {doubled[0]!r}; rename one of them"
        )
    for batch in table.to_batches(max_chunksize=AT_ONCE):
        yield from batch.to_pylist(maps_as_pydicts="strict")


def _raised_by_resource(error: Exception) -> BaseException:
    """Return the error that the code of a resource raised, without dlt's wrapper."""
    from dlt.extract.exceptions import ResourceExtractionError

    return (error.__cause__ or error) if isinstance(error, ResourceExtractionError) else error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


STATE = (
    "keeps state in dlt, such as dlt.sources.incremental or dlt.current.resource_state, which only dlt pipelines "
    "store: here it would be empty in each job. Remove it, and pass the last value as an argument, or use the "
    "Http, Jdbc or a file source with incremental"
)


def extract() -> Any:
    """Import dlt's ``extract`` module. Only jobs that use dlt need it."""
    import dlt.extract

    return dlt.extract


def unfit(source: Any, *, made_once: bool) -> str:
    """Return the reason why the selected resource of a dlt source, or one that feeds it, is not supported, or ``""``.

    ``made_once`` is True if all reads use the same object.
    """
    (chosen,) = source.selected_resources.values()
    if chosen.has_dynamic_table_name:
        return "chooses the table of each row (table_name is a function); use one resource for each table"
    if chosen._pipe.has_parent and not chosen._pipe.is_data_bound:
        return "is a transformer that is not bound to a resource; bind it, for example orders | details"
    for resource in source.resources.extracted:
        wrong = _wrong(resource, made_once)
        if wrong:
            return wrong if resource is chosen else f"reads its data from {resource.name!r}, which {wrong}"
    return ""


def _wrong(resource: Any, made_once: bool) -> str:
    if _is_incremental(resource):
        return STATE
    pipe = resource._pipe
    begun = inspect.isgenerator(pipe.gen) and inspect.getgeneratorstate(pipe.gen) != inspect.GEN_CREATED
    if begun or (made_once and isinstance(pipe.gen, Iterator)):
        return "is created from a generator object, which can be read only once; pass the generator function to dlt"
    if not pipe.has_parent and resource.requires_args:
        return "needs arguments; write them in arguments { }"
    return ""


def _is_incremental(resource: Any) -> bool:
    """Return True if a resource declares ``dlt.sources.incremental``.

    Those declared later are detected by their state.
    """
    step = resource.incremental
    if step is None:
        return False
    if isinstance(step, extract().Incremental) or step.incremental is not None:
        return True
    parameters = inspect.signature(resource).parameters.values()
    return any(isinstance(parameter.default, extract().Incremental) for parameter in parameters)
