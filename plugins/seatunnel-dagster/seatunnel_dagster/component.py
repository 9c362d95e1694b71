"""Dagster component for a job and its assets, defined in YAML."""

from pathlib import Path

import dagster as dg
from pydantic import Field

from seatunnel_dagster.asset import seatunnel_asset


class SeaTunnelJob(dg.Component, dg.Model, dg.Resolvable):
    """Cluster job and the assets that it materializes."""

    job: str = Field(description="Path of the job file, relative to this file.")
    assets: list[dg.ResolvedAssetSpec] = Field(description="Assets that the job materializes.")
    variables: dict[str, str] = Field(default_factory=dict, description="Values of the variables ${…} in the job.")
    job_name: str = Field(default="", description="Name of the job; overrides the one in its file.")
    timeout_s: float | None = Field(default=None, description="Time after which the job is cancelled, in seconds.")
    cancel_when_interrupted: bool = True
    resource_key: str = Field(default="seatunnel", description="Key of the resource SeaTunnelCluster.")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the assets."""
        return dg.Definitions(
            assets=[
                seatunnel_asset(
                    job=Path(context.path) / self.job,
                    specs=self.assets,
                    variables=self.variables,
                    job_name=self.job_name,
                    timeout_s=self.timeout_s,
                    cancel_when_interrupted=self.cancel_when_interrupted,
                    resource_key=self.resource_key,
                )
            ]
        )
