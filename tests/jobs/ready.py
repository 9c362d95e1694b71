"""Runs the ``seatunnel`` command and says when it has begun: before that, a signal meets nothing but Python."""

import signal
import sys

if __name__ == "__main__":
    sys.path.pop(0)  # this folder's files are nobody's modules
    from seatunnel_core.cli.main import main

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background processes ignore it
    print("ready", flush=True)
    sys.exit(main())
