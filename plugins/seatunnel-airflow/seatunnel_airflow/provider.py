"""Metadata of this package for Airflow."""

from typing import Any


def get_provider_info() -> dict[str, Any]:
    """Return the metadata of the provider, including its connection type."""
    return {
        "package-name": "seatunnel-airflow",
        "name": "SeaTunnel",
        "description": "Jobs of a SeaTunnel cluster.",
        "connection-types": [
            {
                "connection-type": "seatunnel",
                "hook-class-name": "seatunnel_airflow.hook.SeaTunnelHook",
                "hook-name": "SeaTunnel",
            }
        ],
    }
