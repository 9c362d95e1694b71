"""What the tests of the storage plugins share."""

import importlib.util
import os

REQUIRED = os.environ.get("SEATUNNEL_SERVERS") == "required" and os.environ.get("TWINS") != "no"
GSSAPI = REQUIRED or importlib.util.find_spec("gssapi") is not None

# gssapi is compiled, so only `make test-servers` installs it, and not with TWINS=no: all tests that need it are twins.
# They cannot even be read without it.
collect_ignore_glob = [] if GSSAPI else ["webhdfs/test_kerberos*.py"]
