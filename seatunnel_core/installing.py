"""Commands that install missing dependencies, for error messages.

The project is not published on a package registry; a package with its name there would belong to another project. The
commands therefore install from a clone.
"""

_WITH_STORAGES = frozenset({"spark", "cluster"})
"""Extras that require the storage plugins, which must also be installed from the clone."""


def install_command(extra: str) -> str:
    """Return the command that installs an extra of ``seatunnel-core``, with the folder in which to run it."""
    storages = " ./plugins/seatunnel-storage-*" if extra in _WITH_STORAGES else ""
    return f"in a clone of this project, run pip install '.[{extra}]'{storages}"
