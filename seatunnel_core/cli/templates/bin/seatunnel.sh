#!/bin/sh
# Runs the command `seatunnel` with this folder as SEATUNNEL_HOME.
#
# JVM options of the Spark driver come from JAVA_OPTS, or from -DJvmOption="-Xmx4G" on the command line:
#   JAVA_OPTS="-Xms2G -Xmx2G"
set -eu
if [ -z "${SEATUNNEL_HOME:-}" ]; then
    SEATUNNEL_HOME=$(cd "$(dirname "$0")/.." && pwd)
fi
SEATUNNEL_COMMAND=$0
JAVA_OPTS=${JAVA_OPTS:-}
export SEATUNNEL_HOME SEATUNNEL_COMMAND JAVA_OPTS
exec ${python} -m seatunnel_core.cli "$@"
