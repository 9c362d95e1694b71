"""Conversion of ``kafka.config`` from Kafka's Java client to librdkafka. Unsupported settings are rejected."""

import re
from collections.abc import Mapping

from seatunnel_core.connector_api.errors import UsageError

_RENAMED = {
    "max.request.size": "message.max.bytes",
    "fetch.max.wait.ms": "fetch.wait.max.ms",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "sasl.mechanisms": "sasl.mechanism",
}

WITHOUT_EFFECT = {
    "max.poll.records",
    "max.block.ms",
    "default.api.timeout.ms",
    "enable.auto.commit",
    "auto.commit.interval.ms",
    "key.serializer",
    "value.serializer",
    "key.deserializer",
    "value.deserializer",
    "fetch.max.bytes",
    "ssl.truststore.type",
    "ssl.truststore.password",
    "ssl.keystore.type",
    "java.security.krb5.conf",
    "exclude.internal.topics",
    "allow.auto.create.topics",
    "auto.offset.reset",  # The source checks for it itself.
}
"""Settings that exist only in the Java client, or that the engine sets itself."""

_REFUSED = {
    "group.id": "write consumer.group outside kafka.config",
    "bootstrap.servers": "write it outside kafka.config",
    "transactional.id": "the engine derives it from the job, pipeline and sink; set transaction_prefix outside "
    "kafka.config",
    "interceptor.classes": "Java classes are not supported",
    "partitioner.class": "Java classes are not supported; use partition, assign_partitions or partition_key_fields",
    "partition.assignment.strategy": "the engine divides partitions",
    "sasl.client.callback.handler.class": "Java classes are not supported",
    "sasl.login.callback.handler.class": "Java classes are not supported",
    "metric.reporters": "Java classes are not supported",
    "config.providers": "Java classes are not supported",
    "ssl.engine.factory.class": "Java classes are not supported",
}

_SECRET = re.compile(r"(?i)(password|secret|jaas|\.key$|\.pem$|token)")
_ENTRY = re.compile(r"(\w+)\s*=\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|([^\s;]+))")


def translated(written: Mapping[str, str]) -> dict[str, str]:
    """Convert settings for librdkafka. Raise UsageError if a setting is not supported."""
    found: dict[str, str] = {}
    for key, value in written.items():
        if key in _REFUSED:
            raise UsageError(f"option 'kafka.config': {key}: {_REFUSED[key]}")
        if key == "sasl.jaas.config":
            found.update(_login(value))
        elif key == "buffer.memory":
            found["queue.buffering.max.kbytes"] = str(max(1, _number(key, value) // 1024))
        elif key in ("ssl.truststore.location", "ssl.ca.location"):
            found["ssl.ca.location"] = _pem(key, value)
        elif key == "ssl.endpoint.identification.algorithm":
            found[key] = value or "none"
        elif key in ("security.protocol", "isolation.level"):
            found[key] = value.lower()
        elif key not in WITHOUT_EFFECT:
            found[_RENAMED.get(key, key)] = value
    if found.get("sasl.mechanism") == "AWS_MSK_IAM":
        raise UsageError("option 'kafka.config': sasl.mechanism AWS_MSK_IAM is not supported; use SCRAM-SHA-512")
    return found


def secrets(settings: Mapping[str, str]) -> list[str]:
    """Return the secret values, which messages must not contain."""
    return [value for key, value in settings.items() if _SECRET.search(key) and value]


def _number(key: str, value: str) -> int:
    if not value.strip().isascii() or not value.strip().isdigit():
        raise UsageError(f"option 'kafka.config': {key}: expected a whole number, found {value!r}")
    return int(value)


def _pem(key: str, value: str) -> str:
    if value.lower().endswith((".jks", ".keystore", ".truststore", ".p12", ".pfx")):
        raise UsageError(
            f"option 'kafka.config': {key}: {value} is a Java keystore, but a PEM file is expected: "
            'export the certificates with keytool -exportcert -rfc, and set ssl.ca.location = "/path/ca.pem"'
        )
    return value


def _login(jaas: str) -> dict[str, str]:
    """Convert ``sasl.jaas.config``. The value is a secret, so messages do not contain it."""
    entries = {
        found[1].lower(): re.sub(r"\\(.)", r"\1", next(each for each in found.groups()[1:] if each is not None))
        for found in _ENTRY.finditer(jaas)
    }
    if "Krb5LoginModule" in jaas:
        kerberos = {"keytab": "sasl.kerberos.keytab", "principal": "sasl.kerberos.principal"}
        return {kerberos[key]: value for key, value in entries.items() if key in kerberos}
    if ("PlainLoginModule" in jaas or "ScramLoginModule" in jaas) and {"username", "password"} <= set(entries):
        return {"sasl.username": entries["username"], "sasl.password": entries["password"]}
    raise UsageError(
        "option 'kafka.config': sasl.jaas.config: expected a PlainLoginModule or ScramLoginModule with "
        "username and password, or a Krb5LoginModule; otherwise set sasl.username and sasl.password"
    )
