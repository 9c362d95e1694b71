"""``python -m seatunnel_storage_api.testing FILE…``: print a page with the reports written by ``--promise-report``."""

import sys

from seatunnel_storage_api.testing.table import main

sys.exit(main(sys.argv[1:]))
