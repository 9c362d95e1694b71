"""Mistakes about Kafka, and ``docs/evidence/mistakes-kafka.md``, which tells what is read then:
``python -m tests.connectors.kafka.mistakes`` makes each of them with a broker and writes the page.
"""

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from seatunnel_core.connector_api.testing import options_of
from seatunnel_core.connector_api.testing.drive import begin, place, sink_place
from seatunnel_core.connector_api.testing.kill_suite import SCHEMA
from seatunnel_core.connectors.kafka.sink import KafkaSink
from seatunnel_core.connectors.kafka.source import KafkaSource
from seatunnel_core.errors import SeaTunnelError
from seatunnel_core.rows.batch import Batch, TableSchema
from tests.servers.kafka import PASSWORD, USER, Kafka
from tests.servers.process import deaf_port

PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "mistakes-kafka.md"
WITHIN_S = 20

_HEAD = """# Mistakes with Kafka and their messages

The messages of [`Kafka`](../reference/connectors/Kafka.md), reported within some seconds and before any row moves.
`127.0.0.1:9092` stands for the address of a broker, and `127.0.0.1:9093` for one that requires a password over TLS.
`python -m tests.connectors.kafka.mistakes` makes each mistake with a broker and generates this page.

| mistake | message |
|---|---|
"""


@frozen(kw_only=True)
class Mistake:
    """One wrong option, or rows that do not fit."""

    options: Mapping[str, Any]
    names: tuple[str, ...]
    """What the message has to have."""

    sink: bool = False
    secure: bool = False
    rows: pa.RecordBatch | None = None
    """What is written; without it nothing is."""

    topic: Mapping[str, str] = field(factory=dict)
    """Settings of a topic that the mistake needs."""

    def message(self, broker: Kafka, folder: Path) -> str:
        """The message."""
        try:
            self._make(broker, folder)
        except SeaTunnelError as error:
            return _same(str(error), broker)
        raise AssertionError("nothing was told")

    def _make(self, broker: Kafka, folder: Path) -> None:
        servers = broker.secure if self.secure else broker.servers
        config = {key: value.replace("CERTIFICATE", str(broker.certificate)) for key, value in _SECURE.items()}
        given: dict[str, Any] = {"bootstrap.servers": servers, "topic": "people"}
        given |= {"kafka.config": {**config, **self.options.get("kafka.config", {})}} if self.secure else {}
        given |= {key: value for key, value in self.options.items() if key != "kafka.config" or not self.secure}
        given = {key: value for key, value in given.items() if value is not None}
        if self.topic and "small" not in broker.topics():
            broker.topic("small", **self.topic)  # type: ignore[arg-type]
        if not self.sink:
            given = {"start_mode": "earliest", "schema": {"fields": {"id": "bigint"}}, **given}
            KafkaSource(options_of(KafkaSource, given)).require_input()
            return
        if "staging_path" in given:
            given["staging_path"] = str(folder)
        made = KafkaSink(options_of(KafkaSink, given))
        made.check_schema(SCHEMA)
        made.prepare(sink_place(place()))
        if self.rows is not None:
            schema = TableSchema(table=SCHEMA.table, columns=self.rows.schema)
            begin(made, schema, place()).write(Batch(table=schema.table, rows=self.rows))


_SECURE = {
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "PLAIN",
    "sasl.username": USER,
    "sasl.password": PASSWORD,
    "ssl.ca.location": "CERTIFICATE",
}
_JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required username="{USER}" password="wrong-one";'
_LARGE = pa.RecordBatch.from_pydict({"id": [1], "name": ["x" * 5_000]}, schema=SCHEMA.columns)

MISTAKES = {
    "an unknown host": Mistake(
        options={"bootstrap.servers": "no-such-host.invalid:9092"},
        names=("no-such-host.invalid:9092", "check the host in bootstrap.servers"),
    ),
    "a port without a server": Mistake(
        options={"bootstrap.servers": f"127.0.0.1:{deaf_port()}"}, names=("Connection refused", "bootstrap.servers")
    ),
    "a topic that does not exist": Mistake(options={"topic": "poeple"}, names=("topic 'poeple' does not exist",)),
    "a topic that does not exist, in the sink": Mistake(
        sink=True, options={"topic": "poeple"}, names=("topic 'poeple' does not exist",)
    ),
    "a pattern that matches no topic": Mistake(
        options={"topic": "poe.*", "pattern": True}, names=("no topic name matches 'poe.*'",)
    ),
    "a wrong password": Mistake(
        secure=True,
        options={"kafka.config": {"sasl.password": "wrong-one"}},
        names=("Invalid username or password", "sasl.password in kafka.config"),
    ),
    "a wrong password, as Java has it": Mistake(
        secure=True,
        sink=True,
        options={"kafka.config": {"sasl.jaas.config": _JAAS}},
        names=("Invalid username or password",),
    ),
    "a certificate that is not trusted": Mistake(
        secure=True,
        options={"kafka.config": {"ssl.ca.location": "/etc/ssl/certs/ca-certificates.crt"}},
        names=("certificate verify failed", "ssl.ca.location"),
    ),
    "no TLS where the broker wants it": Mistake(
        secure=True,
        options={"kafka.config": {"security.protocol": "PLAINTEXT"}},
        names=("security.protocol in kafka.config",),
    ),
    "a truststore of Java": Mistake(
        options={"kafka.config": {"ssl.truststore.location": "/etc/trust.jks"}}, names=("ssl.ca.location", "PEM")
    ),
    "an unknown setting": Mistake(
        options={"kafka.config": {"fetch.min.byte": "1"}}, names=('No such configuration property: "fetch.min.byte"',)
    ),
    "a format that is not here": Mistake(options={"format": "protobuf"}, names=("protobuf is not supported",)),
    "an offset that does not exist": Mistake(
        options={"start_mode": "specific_offsets", "start_mode.offsets": {"people-0": "99"}},
        names=("topic people, partition 0: the offset 99",),
    ),
    "a partition that does not exist": Mistake(
        sink=True, options={"partition": 3}, names=("topic people has 1 partitions",)
    ),
    "exactly once without a folder": Mistake(
        sink=True, options={"semantics": "EXACTLY_ONCE"}, names=("option 'staging_path'",)
    ),
    "a key that is no column": Mistake(
        sink=True, options={"partition_key_fields": ["nam"]}, names=("no column 'nam'", "did you mean name?")
    ),
    "a row that is too large": Mistake(
        sink=True,
        options={"topic": "small", "semantics": "EXACTLY_ONCE", "staging_path": "/staging"},
        topic={"max_message_bytes": "2000"},
        rows=_LARGE,
        names=("but topic small accepts at most 2,000", "max.message.bytes"),
    ),
    "a time for transactions that the brokers do not allow": Mistake(
        sink=True,
        options={
            "semantics": "EXACTLY_ONCE",
            "staging_path": "/staging",
            "kafka.config": {"transaction.timeout.ms": "2000000"},
        },
        names=("transaction.timeout.ms", "transaction.max.timeout.ms"),
    ),
}


def _same(said: str, broker: Kafka) -> str:
    """Without what differs from run to run."""
    said = said.replace(broker.servers, "127.0.0.1:9092").replace(broker.secure, "127.0.0.1:9093")
    said = re.sub(r"127\.0\.0\.1:(?!909[23])\d+", "127.0.0.1:9999", said)
    said = re.sub(r" \(after \d+ms in state \w+(?:, \d+ identical error\(s\) suppressed)?\)", "", said)
    said = re.sub(r"ipv4#127\.0\.0\.1:\d+", "127.0.0.1", said)
    return re.sub(r"-commits-[0-9a-f]{16}", "-commits-…", said)


def page(broker: Kafka) -> str:
    """The whole page."""
    with tempfile.TemporaryDirectory() as folder:
        rows = [f"| {what} | `{each.message(broker, Path(folder))}` |" for what, each in MISTAKES.items()]
    return _HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    with Kafka() as running:
        running.topic("people")
        PAGE.write_text(page(running), "utf-8")
