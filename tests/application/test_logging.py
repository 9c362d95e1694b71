"""A library writes nowhere before the application says where."""

import subprocess
import sys

EVERY_HANDLER = """
import importlib, logging, pkgutil
import seatunnel_core as st
for found in pkgutil.walk_packages(st.__path__, "seatunnel_core."):
    if not found.name.endswith(("__main__", "clients.kerberos")):  # gssapi needs a library of the system
        importlib.import_module(found.name)
st.Job("cities").source("FakeSource")
named = [logging.getLogger(name) for name in logging.root.manager.loggerDict]
ours = [logger for logger in named if logger.name.startswith("seatunnel")]
print(*(type(handler).__name__ for logger in (logging.root, *ours) for handler in logger.handlers))
logging.getLogger("seatunnel.job").error("to be shown by nobody")
"""


def test_importing_everything_adds_no_handler_that_writes() -> None:
    """In a fresh interpreter: pytest has handlers of its own."""
    done = subprocess.run([sys.executable, "-c", EVERY_HANDLER], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (["NullHandler"], "")
