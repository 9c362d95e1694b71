"""Hook for a cluster that an Airflow connection describes."""

from pathlib import Path
from typing import Any

from airflow.sdk import BaseHook

from seatunnel_core.control.cluster_jobs import PATIENCE_S, ClusterJobs
from seatunnel_core.control.rest_client import RestAddress, RestClient
from seatunnel_core.errors import UsageError

EXTRA = frozenset({"context_path", "https", "ca_file", "certificate"})
"""Keys of the Extra field of a connection."""


class SeaTunnelHook(BaseHook):
    """Client for the cluster of a connection of type ``seatunnel``.

    Host is a comma-separated list of nodes, each with an optional port; the default port is the value of the Port
    field, or 8080 if it is empty. Login and Password are ``http.basic-auth-username`` and ``-password``. Extra may
    contain ``context_path``, ``https`` (true or false), ``ca_file`` and ``certificate``; the last two are files on the
    workers and the triggerer.

    Args:
        seatunnel_conn_id: The connection.
        patience_s: Time for which requests are retried while the cluster does not respond or has no leader, in seconds.
    """

    conn_name_attr = "seatunnel_conn_id"
    default_conn_name = "seatunnel_default"
    conn_type = "seatunnel"
    hook_name = "SeaTunnel"

    def __init__(
        self, seatunnel_conn_id: str = default_conn_name, *, patience_s: float = PATIENCE_S, **more: Any
    ) -> None:
        super().__init__(**more)
        self.seatunnel_conn_id = seatunnel_conn_id
        self.patience_s = patience_s

    def get_conn(self) -> ClusterJobs:
        """Return the client for the jobs of the cluster; raise ``UsageError`` if the connection is invalid."""
        return self.jobs_of(self.get_connection(self.seatunnel_conn_id))

    async def aget_conn(self) -> ClusterJobs:
        """Return the client for the jobs of the cluster, for use in a trigger."""
        return self.jobs_of(await self.aget_connection(self.seatunnel_conn_id))

    def jobs_of(self, connection: Any) -> ClusterJobs:
        """Return the client for the jobs of a connection's cluster; raise ``UsageError`` if a field is invalid."""
        try:
            return ClusterJobs(RestClient(_address(connection)), patience_s=self.patience_s)
        except UsageError as error:
            raise UsageError(f"the connection {self.seatunnel_conn_id}: {error}") from error

    def test_connection(self) -> tuple[bool, str]:
        """Check that a node responds, for the test button of Airflow's connection page; return result and message."""
        try:
            ClusterJobs(RestClient(_address(self.get_connection(self.seatunnel_conn_id))), patience_s=0.0).view("0")
        except Exception as error:
            return False, str(error)
        return True, "A node of the cluster responded"

    @classmethod
    def get_ui_field_behaviour(cls) -> dict[str, Any]:
        """Return the fields of Airflow's connection form."""
        return {
            "hidden_fields": ["schema"],
            "relabeling": {"host": "Nodes"},
            "placeholders": {"host": "node1:8080,node2:8080", "extra": '{"https": true}'},
        }


def _address(connection: Any) -> RestAddress:
    extra = connection.extra_dejson
    unknown = sorted(set(extra) - EXTRA)
    if unknown:
        raise UsageError(
            f"unknown keys in the Extra field: {', '.join(unknown)}; supported: {', '.join(sorted(EXTRA))}"
        )
    https = extra.get("https", False)
    if https not in (True, False, "true", "false"):
        raise UsageError(f"https in the Extra field must be true or false, found {https!r}")
    return RestAddress.of(
        connection.host or "",
        port=connection.port,
        user=connection.login or "",
        password=connection.password or "",
        context_path=extra.get("context_path", ""),
        https=https in (True, "true"),
        ca_file=Path(extra["ca_file"]) if extra.get("ca_file") else None,
        certificate=Path(extra["certificate"]) if extra.get("certificate") else None,
    )
