"""``python -m seatunnel_core.cli``: the command without a script on ``PATH``."""

import sys

from seatunnel_core.cli.main import main

sys.exit(main())
