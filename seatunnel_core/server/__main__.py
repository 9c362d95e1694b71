"""``python -m seatunnel_core.server``: the same as ``seatunnel-cluster``."""

import sys

from seatunnel_core.server.command import main

if __name__ == "__main__":
    sys.exit(main())
