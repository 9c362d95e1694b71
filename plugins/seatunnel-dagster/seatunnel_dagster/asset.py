"""Dagster assets that are materialized by running a job."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
from attrs import field, frozen

from seatunnel_core.control.cluster_jobs import format_of

Variables = Mapping[str, str] | Callable[[dg.AssetExecutionContext], Mapping[str, str]]
"""Values for ``${…}`` in a job, or a function that returns them, for example from the partition."""


def seatunnel_asset(
    key: Any = None,
    *,
    job: str | Path,
    specs: Sequence[dg.AssetSpec] = (),
    format: str | None = None,
    variables: Variables | None = None,
    job_name: str = "",
    timeout_s: float | None = None,
    cancel_when_interrupted: bool = True,
    resource_key: str = "seatunnel",
    retry_policy: dg.RetryPolicy | None = None,
    partitions_def: Any = None,
    **spec: Any,
) -> dg.AssetsDefinition:
    """Return an asset, or several assets, materialized by running a job on a cluster.

    The metadata of the materialization contains the job's metrics: ``rows_read``, ``rows_written``,
    ``rows_committed``, ``last_checkpoint``, ``duration_s`` and others.

    Args:
        key: Key of the asset; not allowed with ``specs``.
        job: The text of the job, or the ``Path`` of its file, which is read at each materialization.
        specs: Specifications of the assets if there are several.
        format: ``hocon``, ``json``, ``yaml`` or ``sql``; ``None`` to derive it from the file's extension, else HOCON or
            JSON.
        variables: Values for ``${…}``. A function receives the step's context; by default, the partition key is the
            variable ``partition``.
        job_name: Name that replaces the one in the job.
        timeout_s: Time after which the job is cancelled and the step fails, in seconds.
        cancel_when_interrupted: True to cancel the job when the run is terminated.
        resource_key: Key of the ``SeaTunnelCluster``.
        retry_policy: Retry policy of the step.
        partitions_def: Partitions of the assets.
        spec: Arguments of ``dagster.AssetSpec``: ``deps``, ``group_name``, ``description``, …
    """
    step = _Step(
        job=job,
        format=format,
        variables=variables,
        job_name=job_name,
        timeout_s=timeout_s,
        cancel_when_interrupted=cancel_when_interrupted,
        resource_key=resource_key,
    )
    made = list(specs) or [dg.AssetSpec(key, **spec)]

    @dg.multi_asset(
        name=_name(made),
        specs=made,
        required_resource_keys={resource_key},
        retry_policy=retry_policy,
        partitions_def=partitions_def,
        compute_kind="seatunnel",
    )
    def materialized(context: dg.AssetExecutionContext) -> Any:
        figures = step.figures(context)
        for each in made:
            yield dg.MaterializeResult(asset_key=each.key, metadata=figures)

    return materialized


def _name(made: Sequence[dg.AssetSpec]) -> str:
    first = str(made[0].key.to_python_identifier())
    return first if len(made) == 1 else f"{first}_and_{len(made) - 1}_more"


@frozen(kw_only=True)
class _Step:
    """Settings of a job's step; the fields are arguments of ``seatunnel_asset``."""

    job: str | Path = field(repr=False)
    format: str | None
    variables: Variables | None = field(repr=False)
    job_name: str
    timeout_s: float | None
    cancel_when_interrupted: bool
    resource_key: str

    def figures(self, context: dg.AssetExecutionContext) -> Mapping[str, Any]:
        """Run the job and return its metrics."""
        file = self.job if isinstance(self.job, Path) else None
        text = str(self.job) if file is None else file.read_text(encoding="utf-8")
        found: Mapping[str, Any] = getattr(context.resources, self.resource_key).run(
            context,
            text,
            format=self.format or format_of("" if file is None else file.name),
            variables=self._variables(context, text),
            job_name=self.job_name,
            file="" if file is None else file.name,
            timeout_s=self.timeout_s,
            cancel_when_interrupted=self.cancel_when_interrupted,
        )
        return found

    def _variables(self, context: dg.AssetExecutionContext, text: str) -> Mapping[str, str]:
        if callable(self.variables):
            return self.variables(context)
        is_asked_for = context.has_partition_key and "${partition}" in text
        return {**({"partition": context.partition_key} if is_asked_for else {}), **(self.variables or {})}
