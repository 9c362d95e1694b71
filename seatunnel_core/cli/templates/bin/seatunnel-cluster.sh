#!/bin/sh
# Starts a node of the cluster with this folder as SEATUNNEL_HOME: seatunnel-cluster.sh -d [-r master|worker]
#
# JVM options of its Spark come from config/jvm_options (jvm_master_options, jvm_worker_options), then from JAVA_OPTS,
# then from -DJvmOption="-Xms2G -Xmx2G" on the command line:
#   JAVA_OPTS="-Xms2G -Xmx2G"
set -eu
if [ -z "${SEATUNNEL_HOME:-}" ]; then
    SEATUNNEL_HOME=$(cd "$(dirname "$0")/.." && pwd)
fi
JAVA_OPTS=${JAVA_OPTS:-}
export SEATUNNEL_HOME JAVA_OPTS
exec ${python} -m seatunnel_core.server "$@"
