"""What the tests of connectors share."""

from tests.plugins.conftest import GSSAPI

# As there: its tests cannot even be read without it.
collect_ignore_glob = [] if GSSAPI else ["file/test_hdfs_file_kerberos*.py"]
