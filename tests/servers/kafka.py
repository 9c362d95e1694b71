"""Kafka on loopback, one process in KRaft mode from the jars of Maven, that can be killed and started on the same data.

::

    with Kafka(folder) as broker:
        broker.topic("people", partitions=3)
        broker.send("people", [b'{"id": 1}'])
        broker.kill()
        broker.start()

It listens twice: ``servers`` takes anybody, and ``secure`` wants the user and the password (SASL/PLAIN), over TLS with
a certificate that nobody signed when there is ``keytool``.
"""

import contextlib
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from tests.servers.process import ServerProcess, cache_folder, free_port, only_one, require

VERSION = "3.9.1"
USER, PASSWORD = "seatunnel", "s3cret;with'quotes"

_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>tests</groupId><artifactId>kafka</artifactId><version>1</version>
<dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>{VERSION}</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
</dependencies></project>
"""
_JVM = ("-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_CLUSTER = "c2VhdHVubmVsLXRlc3RzIQ"
"""The id of the cluster, 16 bytes in base64."""


def build() -> Path:
    """The folder with the jars, 50 MB; downloads what is missing."""
    folder = cache_folder("kafka") / VERSION
    folder.mkdir(exist_ok=True)
    jars = folder / "jars"
    with only_one(folder):
        if not (folder / "complete").exists():
            require("mvn", "java")
            pom = folder / "pom.xml"
            pom.write_text(_POM)
            copy = ["mvn", "-q", "-B", "-f", str(pom), "dependency:copy-dependencies", f"-DoutputDirectory={jars}"]
            done = subprocess.run(copy, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"Kafka's jars cannot be had: {(done.stdout + done.stderr)[-2_000:]}")
            (folder / "complete").touch()
    return jars


class Kafka:
    """One broker, which is its own controller. Topics are not made by whoever asks for them.

    Args:
        folder: empty; keeps configuration, data and logs. Without it a temporary one.
    """

    def __init__(self, folder: Path | None = None, *, properties: Mapping[str, str] | None = None) -> None:
        self.folder = folder or Path(tempfile.mkdtemp(prefix="seatunnel-kafka-"))
        self._temporary = folder is None
        self.port, self.secure_port, self._controller_port = free_port(), free_port(), free_port()
        self._properties = properties or {}
        java = ["java", *_JVM, "-cp", f"{build()}/*"]
        self._configuration = self.folder / "server.properties"
        self._java = java
        command = [*java, "kafka.Kafka", str(self._configuration)]
        self._process = ServerProcess(command, self._answers, self.folder / "server.log")

    @property
    def servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def secure(self) -> str:
        return f"127.0.0.1:{self.secure_port}"

    @cached_property
    def admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def start(self) -> None:
        """Returns when it answers; about 5 s."""
        if not self._configuration.exists():
            self._format()
        self._process.start()

    def kill(self) -> None:
        """``kill -9``."""
        self._process.kill()

    def restart(self) -> None:
        self.kill()
        self.start()

    def stop(self) -> None:
        """For good."""
        self.kill()
        if self._temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    # -- what tests ask of it -------------------------------------------------------------------------------------

    def topic(self, name: str, *, partitions: int = 1, **config: str) -> str:
        """Make a topic; ``_`` in the names of its settings stands for a dot."""
        from confluent_kafka.admin import NewTopic

        settings = {key.replace("_", "."): value for key, value in config.items()}
        made = self.admin.create_topics([NewTopic(name, partitions, 1, config=settings)], request_timeout=30)
        made[name].result(30)
        deadline = time.monotonic() + 30
        while len(self._partitions(name)) < partitions and time.monotonic() < deadline:
            time.sleep(0.02)
        return name

    def recreate(self, name: str, *, partitions: int = 1) -> None:
        """Delete a topic with its messages, and create it again."""
        self.admin.delete_topics([name], operation_timeout=30)[name].result(60)
        deadline = time.monotonic() + 30
        while self._partitions(name) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.topic(name, partitions=partitions)

    def topics(self) -> list[str]:
        return sorted(self.admin.list_topics(timeout=30).topics)

    def send(
        self, topic: str, values: Iterable[bytes | None], *, partition: int = -1, keys: Iterable[bytes] | None = None
    ) -> None:
        """Messages, in order within a partition. Returns when the broker has them."""
        from confluent_kafka import Producer

        producer = Producer({"bootstrap.servers": self.servers, "linger.ms": 5, "log_level": 0})
        given = iter(keys) if keys is not None else None
        for value in values:
            key = next(given) if given is not None else None
            while True:
                try:
                    producer.produce(topic, value, key, **({} if partition < 0 else {"partition": partition}))
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(60) == 0

    def messages(self, topic: str) -> list[Any]:
        """All that a reader sees who is not shown what is not committed."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

        places = [TopicPartition(topic, number, OFFSET_BEGINNING) for number in self._partitions(topic)]
        if not places:
            return []
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": "tests",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        consumer.assign(places)
        found, deadline = [], time.monotonic() + 120
        ended: set[Any] = set()
        while len(ended) < len(places):
            assert time.monotonic() < deadline, f"{topic} cannot be read to its end"
            for message in consumer.consume(10_000, 1.0):
                if message.error() is None:
                    found.append(message)
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition())
        consumer.close()
        return found

    def values(self, topic: str) -> list[bytes | None]:
        return [message.value() for message in self.messages(topic)]

    def _partitions(self, topic: str) -> list[int]:
        found = self.admin.list_topics(timeout=30).topics.get(topic)
        return sorted(found.partitions) if found is not None else []

    # -- starting -------------------------------------------------------------------------------------------------

    def _format(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        controller = f"127.0.0.1:{self._controller_port}"
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@{controller}",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "listeners": f"PLAINTEXT://{self.servers},SECURE://{self.secure},CONTROLLER://{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.servers},SECURE://{self.secure}",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
            "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.secure.plain.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule "
            f'required user_{USER}="{PASSWORD}";',
            **self._certificate(),
            "log.dirs": str(self.folder / "data"),
            "auto.create.topics.enable": "false",
            "num.partitions": "1",
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "4",
            "group.initial.rebalance.delay.ms": "0",
            "num.network.threads": "2",
            "num.io.threads": "2",
            "log.cleaner.dedupe.buffer.size": "2097152",
            "log.retention.check.interval.ms": "1000",
            **self._properties,
        }
        self._configuration.write_text("".join(f"{key}={value}\n" for key, value in settings.items()), "utf-8")
        tool = [*self._java, "kafka.tools.StorageTool", "format", "-t", _CLUSTER, "-c", str(self._configuration)]
        done = subprocess.run(tool, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"Kafka's storage cannot be made: {(done.stdout + done.stderr)[-2_000:]}")

    @property
    def certificate(self) -> Path:
        """Of ``secure``, in PEM: who trusts it gets through."""
        return self.folder / "certificate.pem"

    def _certificate(self) -> dict[str, str]:
        require("keytool")
        store = self.folder / "keys.p12"
        common = ["-keystore", str(store), "-storetype", "PKCS12", "-storepass", "changeit", "-alias", "broker"]
        names = ["-dname", "CN=127.0.0.1", "-ext", "san=ip:127.0.0.1", "-validity", "3650", "-keyalg", "RSA"]
        subprocess.run(["keytool", "-genkeypair", *common, *names], check=True, capture_output=True)
        export = ["keytool", "-exportcert", "-rfc", *common, "-file", str(self.certificate)]
        subprocess.run(export, check=True, capture_output=True)
        place = "listener.name.secure.ssl.keystore"
        return {f"{place}.location": str(store), f"{place}.password": "changeit", f"{place}.type": "PKCS12"}

    def _answers(self) -> bool:
        with socket.create_connection(("127.0.0.1", self.port), 1):
            pass
        from confluent_kafka import KafkaException

        with contextlib.suppress(KafkaException):
            return bool(self.admin.list_topics(timeout=2).brokers)
        return False
