#!/bin/sh
# Ends the nodes of this user on this machine; with -cn NAME only those of one cluster.
set -eu
exec ${python} -c 'import sys; from seatunnel_core.server.command import stop; sys.exit(stop())' "$@"
