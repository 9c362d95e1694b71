"""``python -m seatunnel_storage_api.testing FILE…``: print the page of the reports that ``--promise-report`` wrote."""

import sys

from seatunnel_storage_api.testing.table import main

sys.exit(main(sys.argv[1:]))
