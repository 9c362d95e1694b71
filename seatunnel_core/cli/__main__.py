"""``python -m seatunnel_core.cli``: the command ``seatunnel``, for installations without the script on ``PATH``."""

import sys

from seatunnel_core.cli.main import main

sys.exit(main())
