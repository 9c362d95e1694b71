"""``python -m tests.bench.seatunnel_engine FOLDER``: SeaTunnel's own engine, from its jars in Maven, to be measured.

Its distribution is not in Maven, but all of its parts are except the command. In that one's place stands a class that
does what ``seatunnel.sh -m local`` does: it starts a server in its own process, gives it the job and waits for its end.
Another one does what ``seatunnel-cluster.sh`` does: it is a node of a cluster until it is killed.
The files of configuration say what those of the distribution say, and the heap is as large as that of its server.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

VERSION = "2.3.8"

_PARTS = ("core-starter", "engine-client", "engine-server", "transforms-v2")
_CONNECTORS = ("connector-file-local", "connector-fake", "connector-console")
_HADOOP = f"""<dependency><groupId>org.apache.seatunnel</groupId><artifactId>seatunnel-hadoop3-3.1.4-uber</artifactId>
<version>{VERSION}</version><classifier>optional</classifier></dependency>"""

_JAVA = """import com.hazelcast.client.config.ClientConfig;
import com.hazelcast.instance.impl.HazelcastInstanceImpl;
import java.util.List;
import org.apache.seatunnel.common.config.Common;
import org.apache.seatunnel.common.config.DeployMode;
import org.apache.seatunnel.engine.client.SeaTunnelClient;
import org.apache.seatunnel.engine.common.config.ConfigProvider;
import org.apache.seatunnel.engine.common.config.JobConfig;
import org.apache.seatunnel.engine.core.job.JobResult;
import org.apache.seatunnel.engine.core.job.JobStatus;
import org.apache.seatunnel.engine.server.SeaTunnelServerStarter;

public class Local {
    public static void main(String[] arguments) throws Exception {
        Common.setDeployMode(DeployMode.CLIENT);
        String cluster = "local-" + ProcessHandle.current().pid();
        HazelcastInstanceImpl server = SeaTunnelServerStarter.createHazelcastInstance(cluster);
        int port = server.getCluster().getLocalMember().getSocketAddress().getPort();
        ClientConfig client = ConfigProvider.locateAndGetClientConfig();
        client.setClusterName(cluster);
        client.getNetworkConfig().setAddresses(List.of("localhost:" + port));
        JobConfig job = new JobConfig();
        job.setName(cluster);
        JobResult result;
        try (SeaTunnelClient engine = new SeaTunnelClient(client)) {
            var settings = ConfigProvider.locateAndGetSeaTunnelConfig();
            result = engine.createExecutionContext(arguments[0], job, settings).execute().waitForJobCompleteV2();
        }
        server.shutdown();
        System.out.println(result.getStatus() + " " + result.getError());
        System.exit(result.getStatus() == JobStatus.FINISHED ? 0 : 1);
    }
}
"""

_NODE_JAVA = """import org.apache.seatunnel.common.config.Common;
import org.apache.seatunnel.common.config.DeployMode;
import org.apache.seatunnel.engine.server.SeaTunnelServerStarter;

public class Node {
    public static void main(String[] arguments) {
        Common.setDeployMode(DeployMode.CLIENT);
        SeaTunnelServerStarter.createHazelcastInstance(arguments[0]);
    }
}
"""

_JVM = """exec java -XX:+UseG1GC \\
    --add-opens java.base/java.lang=ALL-UNNAMED --add-opens java.base/java.nio=ALL-UNNAMED \\
    --add-opens java.base/sun.nio.ch=ALL-UNNAMED \\
    -Dseatunnel.config={home}/config/seatunnel.yaml \\
    -Dhazelcast.client.config={home}/config/hazelcast-client.yaml \\
    -Dlog4j2.configurationFile={home}/config/log4j2.properties -DSEATUNNEL_HOME={home} \\
    -cp "{home}/lib/seatunnel-config-shade-{version}.jar:{home}/starter:{home}/lib/*" \\
"""
# Its forked reader of configurations has to come before the one that it was forked from.

_FILES = {
    "config/seatunnel.yaml": """seatunnel:
  engine:
    backup-count: 1
    queue-type: blockingqueue
    print-execution-info-interval: 60
    print-job-metrics-info-interval: 60
    slot-service: {{ dynamic-slot: true }}
    checkpoint:
      interval: 10000
      timeout: 60000
      storage:
        type: hdfs
        max-retained: 3
        plugin-config: {{ namespace: {home}/checkpoints, storage.type: hdfs, "fs.defaultFS": "file:///" }}
""",
    "config/hazelcast.yaml": """hazelcast:
  cluster-name: seatunnel
  network:
    join: {{ tcp-ip: {{ enabled: true, member-list: [localhost] }} }}
    port: {{ auto-increment: true, port: 5801 }}
  properties: {{ hazelcast.logging.type: log4j2, hazelcast.phone.home.enabled: false }}
""",
    "config/hazelcast-client.yaml": """hazelcast-client:
  cluster-name: seatunnel
  network: {{ cluster-members: ["localhost:5801"] }}
""",
    "config/log4j2.properties": """rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %-5p %c %m%n
""",
    "connectors/plugin-mapping.properties": """seatunnel.source.FakeSource = connector-fake
seatunnel.source.LocalFile = connector-file-local
seatunnel.sink.LocalFile = connector-file-local
seatunnel.sink.Console = connector-console
""",
    "starter/Local.java": _JAVA.replace("{", "{{").replace("}", "}}"),
    "starter/Node.java": _NODE_JAVA.replace("{", "{{").replace("}", "}}"),
    "bin/seatunnel.sh": f"""#!/bin/sh
# seatunnel.sh --config FILE -m local
{_JVM}    -Dhazelcast.config={{home}}/config/hazelcast.yaml -Xms256m -Xmx2g Local "$2"
""",
    "bin/seatunnel-cluster.sh": f"""#!/bin/sh
# seatunnel-cluster.sh HAZELCAST_FILE CLUSTER: a node, until it is killed
{_JVM}    -Dhazelcast.config="$1" -Xms256m -Xmx768m Node "$2"
""",
}


def install(home: Path) -> None:
    """Make an installation in an empty folder; 150 MB are downloaded.

    Raises:
        RuntimeError: Maven, or the compiler, does not give what is needed; says what it says.
    """
    for name, text in _FILES.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(home=home, version=VERSION))
    for command in (home / "bin").iterdir():
        command.chmod(0o755)
    (home / "pom.xml").write_text(_pom())
    copy = ("mvn", "-q", "-B", "-f", str(home / "pom.xml"), "dependency:copy-dependencies", "-DincludeScope=runtime")
    _run(*copy, f"-DoutputDirectory={home / 'lib'}")
    for jar in home.glob("lib/connector-*.jar"):
        jar.rename(home / "connectors" / jar.name)
    for jar in home.glob("lib/hadoop-*.jar"):  # all of them are in the uber jar
        jar.unlink()
    _run("javac", "-cp", f"{home}/lib/*", *(str(home / "starter" / name) for name in ("Local.java", "Node.java")))


def _pom() -> str:
    names = (*(f"seatunnel-{part}" for part in _PARTS), *_CONNECTORS)
    parts = "\n".join(
        f"<dependency><groupId>org.apache.seatunnel</groupId><artifactId>{name}</artifactId>"
        f"<version>{VERSION}</version></dependency>"
        for name in names
    )
    return (
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>tests</groupId>'
        f"<artifactId>seatunnel</artifactId><version>1</version><dependencies>{parts}{_HADOOP}</dependencies></project>"
    )


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}: {(done.stdout + done.stderr)[-2000:]}")


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.seatunnel_engine", description=__doc__)
    parser.add_argument("folder", type=Path, help="a new one, for SEATUNNEL_PEER_HOME to name")
    home = parser.parse_args(argv).folder.absolute()
    if missing := [command for command in ("mvn", "javac", "java") if shutil.which(command) is None]:
        parser.error(f"{' and '.join(missing)} not found on PATH")
    if home.exists() and any(home.iterdir()):
        parser.error(f"{home} is not empty")
    install(home)
    return 0


if __name__ == "__main__":
    sys.exit(main())
