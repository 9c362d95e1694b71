"""What the backend on S3 does beyond the kit, on real servers: addresses, costs, races, answers that are rare."""

import contextlib
import functools
import io
import logging
import secrets
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.httpsession import URLLib3Session
from seatunnel_storage_hdfs.factory import HdfsStorageFactory
from seatunnel_storage_hdfs.s3.storage import S3Storage

from seatunnel_storage_api import envelope, layout
from seatunnel_storage_api.errors import StorageAccessError, StorageUnavailableError
from seatunnel_storage_api.inventory import checkpoint_header
from seatunnel_storage_api.testing.given import JOB, at_once, checkpoint, claim, refs
from tests.figures import Figure
from tests.servers.forward_proxy import forward_proxy
from tests.servers.objects.minio import MinIO
from tests.servers.objects.s3 import S3Server
from tests.servers.objects.versitygw import Versitygw

pytestmark = [pytest.mark.servers, pytest.mark.timeout(600)]

NAMESPACE = "/seatunnel/checkpoint/"


@pytest.fixture(scope="module")
def minio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MinIO]:
    yield from running(MinIO(tmp_path_factory.mktemp("minio")))  # type: ignore[misc]


@pytest.fixture(scope="module")
def versitygw(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    yield from running(Versitygw(tmp_path_factory.mktemp("versitygw")))


@pytest.fixture(params=["minio", "versitygw"])
def server(request: pytest.FixtureRequest) -> S3Server:
    server: S3Server = request.getfixturevalue(request.param)
    return server


def running(server: S3Server) -> Iterator[S3Server]:
    server.start()
    try:
        yield server
    finally:
        server.kill()


def open_storage(server: S3Server, bucket: str | None = None, **more: str) -> S3Storage:
    """In a bucket of its own, unless one is named."""
    name = bucket or server.make_bucket(f"test-{secrets.token_hex(6)}")
    storage = HdfsStorageFactory().create({**server.configuration(name, namespace=NAMESPACE), **more})
    assert isinstance(storage, S3Storage)
    return storage


@contextlib.contextmanager
def sent(storage: S3Storage) -> Iterator[Counter[str]]:
    """How often each operation goes out on the wire."""
    counted: Counter[str] = Counter()

    def count(event_name: str, **_: object) -> None:
        counted[event_name.rpartition(".")[2]] += 1

    storage.client.meta.events.register("before-send.s3", count)
    yield counted
    storage.client.meta.events.unregister("before-send.s3", count)


def answer(storage: S3Storage, operation: str, *answers: tuple[int, str] | None) -> list[tuple[int, str] | None]:
    """Puts answers in place of the server's, one for each next request; ``None`` lets a request through.

    Returns:
        What is left of them.
    """
    left = list(answers)

    def put_in(request: Any, **_: object) -> AWSResponse | None:
        status, code = (left.pop(0) if left else None) or (0, "")
        body = f"<Error><Code>{code}</Code><Message>-</Message></Error>".encode()
        return AWSResponse(request.url, status, {"Content-Length": str(len(body))}, Raw(body)) if status else None

    storage.client.meta.events.register(f"before-send.s3.{operation}", put_in)
    return left


class Raw(io.BytesIO):
    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.getvalue()


# -- addresses


@pytest.mark.parametrize("written", ["{}", "s3a://{}", "s3://{}", "s3a://{}/", "s3n://{}/"])
def test_ways_to_write_a_bucket(minio: S3Server, written: str) -> None:
    name = minio.make_bucket(f"test-{secrets.token_hex(6)}")
    with open_storage(minio, name, **{"s3.bucket": written.format(name)}) as storage:
        epoch = claim(storage)
    assert minio.backdoor(name, NAMESPACE).paths() == [f"{JOB}/000001/{epoch:010d}.epoch"]


def test_an_endpoint_without_a_scheme(minio: S3Server) -> None:
    plain = {"fs.s3a.endpoint": f"127.0.0.1:{minio.port}", "fs.s3a.connection.ssl.enabled": "false"}
    open_storage(minio, **plain).close()


def test_the_namespace_may_be_the_bucket(minio: S3Server) -> None:
    name = minio.make_bucket(f"test-{secrets.token_hex(6)}")
    with open_storage(minio, name, namespace="/") as storage:
        storage.put_manifest(JOB, 1, b"")
        assert storage.list_jobs() == (JOB,)
    assert minio.backdoor(name, "/").paths() == [f"{JOB}/manifest/0000000001.manifest"]


def test_a_wrong_region_is_corrected_by_what_the_server_says(server: S3Server) -> None:
    with open_storage(server, **{"fs.s3a.endpoint.region": "eu-central-1"}) as storage:
        storage.store_checkpoint(checkpoint(claim(storage), 1))


def test_through_a_proxy_with_a_password(minio: S3Server) -> None:
    with forward_proxy("user@home", "p:ss/w@rd") as (port, forwarded):
        proxy = {"fs.s3a.proxy.host": "127.0.0.1", "fs.s3a.proxy.port": str(port)}
        who = {"fs.s3a.proxy.username": "user@home", "fs.s3a.proxy.password": "p:ss/w@rd"}
        with open_storage(minio, **proxy, **who) as storage:
            storage.store_checkpoint(checkpoint(claim(storage), 1))
        through = len(forwarded)
        assert through > 5
        with pytest.raises(StorageAccessError, match="407") as caught:
            open_storage(minio, **proxy, **{**who, "fs.s3a.proxy.password": "canary"})
    assert len(forwarded) == through
    assert "canary" not in str(caught.value)


@pytest.mark.parametrize("kind", [MinIO, Versitygw])
def test_encrypted(tmp_path_factory: pytest.TempPathFactory, kind: type[S3Server]) -> None:
    for server in running(kind(tmp_path_factory.mktemp("tls"), tls=True)):
        with open_storage(server, **{"fs.s3a.ssl.ca-file": str(server.ca_file)}) as storage:
            epoch = claim(storage)
            for number, states in enumerate((b"", b"small", secrets.token_bytes(3 * 2**20))):
                storage.store_checkpoint(checkpoint(epoch, number, states))
                latest = storage.get_latest_checkpoint(JOB, 1)
                assert latest is not None
                assert latest.states == states


# -- costs


def test_costs_on_the_wire(server: S3Server) -> None:
    with open_storage(server, **{"max-retained": "2"}) as storage:
        epoch = claim(storage)
        with sent(storage) as counted:
            for number in range(2):
                storage.store_checkpoint(checkpoint(epoch, number))
            assert counted == {"PutObject": 2, "ListObjectsV2": 2}
            storage.store_checkpoint(checkpoint(epoch, 2))
            assert counted == {"PutObject": 3, "ListObjectsV2": 3, "DeleteObjects": 1}


def test_the_start_costs_five_requests(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """And leaves nothing behind."""
    counted: Counter[str] = Counter()
    name = server.make_bucket(f"test-{secrets.token_hex(6)}")
    send = URLLib3Session.send

    def count(self: URLLib3Session, request: Any) -> Any:
        counted[request.method] += 1
        return send(self, request)

    with monkeypatch.context() as patches:
        patches.setattr(URLLib3Session, "send", count)
        open_storage(server, name).close()
    assert counted == {"GET": 2, "PUT": 2, "POST": 1}
    assert server.backdoor(name, "/").paths() == []


@pytest.mark.twin
def test_latest_among_10000_checkpoints_of_1000_pipelines_reads_one_payload(
    versitygw: S3Server, figure: Figure
) -> None:
    with open_storage(versitygw) as storage:
        states = [checkpoint(1, number, pipeline_id=pipeline) for pipeline in range(1, 1001) for number in range(10)]

        def put(state: Any) -> None:
            body = envelope.seal("checkpoint", state.states, **checkpoint_header(state))
            storage.put_if_absent(layout.checkpoint_key(state), body)

        with ThreadPoolExecutor(8) as threads:
            list(threads.map(put, states))
        with sent(storage) as counted:
            latest = storage.get_latest_checkpoint(JOB, 500)
        assert latest == states[500 * 10 - 1]
        assert counted == {"ListObjectsV2": 1, "GetObject": 1}
        with sent(storage) as counted:
            listings = storage.scan_job(JOB)
        assert len(listings) == 1_000
        assert counted == {"ListObjectsV2": 10}
        with sent(storage) as counted:
            storage.delete_job(JOB)
        assert counted["GetObject"] == 0
        assert storage.list_jobs() == ()
    figure(f"deleting 10,000 checkpoints of 1,000 pipelines: {dict(counted)}")


def test_more_than_a_thousand_objects(server: S3Server) -> None:
    """More than one page of a listing, and more than one batch to delete."""
    with open_storage(server) as storage:
        keys = [f"{JOB}/manifest/{number:010d}.manifest" for number in range(1, 1_006)]
        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(lambda key: storage.put_if_absent(key, b""), keys))
        with sent(storage) as counted:
            assert sorted(blob.key for blob in storage.list_blobs("")) == keys
            storage.delete(keys)
            assert list(storage.list_blobs("")) == []
        assert counted == {"ListObjectsV2": 3, "DeleteObjects": 2}


# -- races


def test_one_of_16_wins_a_key_100_times(server: S3Server, figure: Figure) -> None:
    with contextlib.ExitStack() as stack:
        name = server.make_bucket(f"test-{secrets.token_hex(6)}")
        storages = [stack.enter_context(open_storage(server, name)) for _ in range(16)]
        epoch, sizes = claim(storages[0]), (1_000, 300_000)
        for number in range(100):
            states = [bytes([writer]) * sizes[number % 2] for writer in range(16)]
            outcomes = at_once(
                *(
                    functools.partial(each.put_if_absent, layout.checkpoint_key(checkpoint(epoch, number)), body)
                    for each, body in zip(storages, states, strict=True)
                )
            )
            assert sorted(outcomes, key=str) == [False] * 15 + [True]
            won = storages[0].read(layout.checkpoint_key(checkpoint(epoch, number)))
            assert won == states[outcomes.index(True)]
    figure(f"{type(server).__name__}: 16 writers for one id, 100 rounds: one winner in each of 100")


def test_many_that_begin_at_once_share_one_probe(server: S3Server) -> None:
    """Each removes the object that another one has just put; nobody may take that for a server that overwrites."""
    name = server.make_bucket(f"test-{secrets.token_hex(6)}")
    for _ in range(3):
        opened = at_once(*[lambda: open_storage(server, name)] * 16)
        assert [str(each) for each in opened if not isinstance(each, S3Storage)] == []
        for storage in opened:
            assert isinstance(storage, S3Storage)
            storage.close()
    assert server.backdoor(name, "/").paths() == []


# -- rare answers


def test_a_conflict_is_tried_again(minio: S3Server) -> None:
    """Amazon sends 409 when two conditional puts meet, and no server here does: the answer is put in."""
    with open_storage(minio) as storage:
        epoch = claim(storage)
        left = answer(storage, "PutObject", (409, "ConditionalRequestConflict"), (409, "ConditionalRequestConflict"))
        storage.store_checkpoint(checkpoint(epoch, 1))
        assert left == []
        assert refs(storage) == [(epoch, 1)]


def test_a_conflict_that_stays_is_a_failure_that_may_pass(minio: S3Server) -> None:
    with open_storage(minio) as storage:
        epoch = claim(storage)
        answer(storage, "PutObject", *[(409, "ConditionalRequestConflict")] * 100)
        with pytest.raises(StorageUnavailableError, match="409 ConditionalRequestConflict") as caught:
            storage.store_checkpoint(checkpoint(epoch, 1))
        assert caught.value.retryable
        assert refs(storage) == []


def test_a_put_whose_answer_was_lost_meets_its_own_success(server: S3Server) -> None:
    """The server stores it, and the client hears nothing of that: the second try is told 412."""
    with open_storage(server) as storage:
        epoch = claim(storage)
        lost: list[bool] = []

        def lose(response_dict: dict[str, Any], **_: object) -> None:
            if not lost:
                lost.append(True)
                response_dict["status_code"] = 503

        storage.client.meta.events.register("before-parse.s3.PutObject", lose)
        with sent(storage) as counted:
            storage.store_checkpoint(checkpoint(epoch, 1))
        assert lost
        assert counted == {"PutObject": 2, "GetObject": 1, "ListObjectsV2": 1}
        assert refs(storage) == [(epoch, 1)]


def test_what_a_batch_could_not_delete_is_reported(minio: MinIO) -> None:
    """A denied key among others is an answer of 200."""
    name = minio.make_bucket(f"test-{secrets.token_hex(6)}")
    with open_storage(minio, name, **{"max-retained": "1"}) as storage:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1))
        may_not_delete = minio.restricted(name, "s3:ListBucket", "s3:PutObject", "s3:GetObject")
        storage.client = minio.client(
            aws_access_key_id=may_not_delete["fs.s3a.access.key"],
            aws_secret_access_key=may_not_delete["fs.s3a.secret.key"],
            aws_session_token=may_not_delete["fs.s3a.session.token"],
        )
        storage.store_checkpoint(checkpoint(epoch, 2))
        failure = storage.prune_failures[(JOB, 1)]
        assert isinstance(failure, StorageAccessError)
        assert "AccessDenied to DeleteObjects" in str(failure)
        assert refs(storage) == [(epoch, 1), (epoch, 2)]
        storage.client = minio.client()
        storage.store_checkpoint(checkpoint(epoch, 3))
        assert storage.prune_failures == {}
        assert refs(storage) == [(epoch, 3)]


def test_a_server_that_is_started_again_is_waited_for(tmp_path_factory: pytest.TempPathFactory) -> None:
    for server in running(Versitygw(tmp_path_factory.mktemp("restarted"))):
        with open_storage(server) as storage:
            epoch = claim(storage)
            storage.store_checkpoint(checkpoint(epoch, 1))
            server.restart()
            storage.store_checkpoint(checkpoint(epoch, 2))
            server.kill()
            with ThreadPoolExecutor(1) as threads:
                storing = threads.submit(storage.store_checkpoint, checkpoint(epoch, 3))
                server.start()
                storing.result()
            assert refs(storage) == [(epoch, 1), (epoch, 2), (epoch, 3)]


# -- versioned buckets


def test_a_versioned_bucket_wants_a_lifecycle_rule(server: S3Server, caplog: pytest.LogCaptureFixture) -> None:
    name = server.make_bucket(f"test-{secrets.token_hex(6)}")
    client = server.client()
    open_storage(server, name).close()
    assert "lifecycle" not in caplog.text
    client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    with open_storage(server, name) as storage:
        epoch = claim(storage)
        for number in range(5):
            storage.store_checkpoint(checkpoint(epoch, number))
        assert refs(storage) == [(epoch, 2), (epoch, 3), (epoch, 4)]
    warnings = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert len(warnings) == 1
    assert f"the bucket {name} keeps versions of objects" in caplog.text


def test_a_lifecycle_rule_ends_the_warning(minio: S3Server, caplog: pytest.LogCaptureFixture) -> None:
    name = minio.make_bucket(f"test-{secrets.token_hex(6)}")
    minio.client().put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
    rule = {
        "ID": "old",
        "Status": "Enabled",
        "Filter": {"Prefix": ""},
        "NoncurrentVersionExpiration": {"NoncurrentDays": 1},
    }
    minio.client().put_bucket_lifecycle_configuration(Bucket=name, LifecycleConfiguration={"Rules": [rule]})
    open_storage(minio, name).close()
    assert "lifecycle" not in caplog.text
