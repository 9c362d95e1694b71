"""Commands that install missing dependencies, for error messages.

This project is not on a package registry, so commands name the clone: a registry's package of the same name would
belong to another project.
"""

_WITH_STORAGES = frozenset({"spark", "cluster"})
"""Extras that require the storage plugins, which must also be installed from the clone."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra of ``seatunnel-core``, and where to run it."""
    storages = " ./plugins/seatunnel-storage-*" if extra in _WITH_STORAGES else ""
    return f"in a clone of this project, run pip install '.[{extra}]'{storages}"
