"""Promise 11: an error contains backend, operation, path, remedy and cause, and no secret."""

import errno
import logging
import traceback
from collections.abc import Callable

import pytest

from seatunnel_storage_api.errors import (
    CheckpointConflictError,
    CheckpointCorruptedError,
    CheckpointStorageError,
    StaleEpochError,
    StorageAccessError,
    StorageClosedError,
    StorageConfigurationError,
)
from seatunnel_storage_api.storage import CheckpointStorage, CheckpointStorageFactory
from seatunnel_storage_api.testing.backdoor import Backdoor
from seatunnel_storage_api.testing.given import JOB, StorageFixtures, checkpoint, claim, refs


class Mistakes(StorageFixtures):
    """Promise 11. ``secrets`` contains the strings that no message, log or ``repr`` may contain."""

    def test_p11_errors_name_the_place_and_the_remedy(self, storage: CheckpointStorage, backdoor: Backdoor) -> None:
        def message(kind: type[CheckpointStorageError], verb: Callable[[], object]) -> str:
            with pytest.raises(kind) as caught:
                verb()
            text = str(caught.value)
            assert ". " in text, f"expected one sentence with the cause and one with the remedy: {text}"
            assert not any(secret in text for secret in self.secrets)
            return text

        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1))
        name = backdoor.only(".ckpt").replace("\\", "/").rpartition("/")[2].rpartition("%2F")[2]
        conflict = message(CheckpointConflictError, lambda: storage.store_checkpoint(checkpoint(epoch, 1, b"other")))
        backdoor.write(backdoor.only(".ckpt"), b"")
        damage = message(CheckpointCorruptedError, lambda: storage.get_latest_checkpoint(JOB, 1))
        claim(storage)
        stale = message(StaleEpochError, lambda: storage.store_checkpoint(checkpoint(epoch, 2)))
        assert name in conflict
        assert name in damage
        assert JOB in stale

    def test_p11_nobody_sees_a_secret_or_a_state(
        self, storage: CheckpointStorage, factory: CheckpointStorageFactory
    ) -> None:
        shown = repr(storage) + repr(factory) + repr(checkpoint(1, 1, b"hidden"))
        assert "hidden" not in shown
        assert not any(secret in shown for secret in self.secrets)

    @pytest.mark.parametrize("bad", ["0", "-1", "two", "1.5"])
    def test_p11_max_retained_is_checked_at_the_start(
        self, factory: CheckpointStorageFactory, configuration: dict[str, str], bad: str
    ) -> None:
        with pytest.raises(StorageConfigurationError, match=r"max-retained"):
            factory.create({**configuration, "max-retained": bad})

    def test_p11_an_unknown_key_is_a_warning_and_the_mapping_stays_as_it_is(
        self, factory: CheckpointStorageFactory, configuration: dict[str, str], caplog: pytest.LogCaptureFixture
    ) -> None:
        written = {**configuration, "K1": "V1-not-to-be-shown"}
        before = dict(written)
        with factory.create(written) as one, factory.create(written) as other:
            assert one is not other
        assert written == before
        assert "'K1'" in caplog.text
        assert "V1-not" not in caplog.text

    @pytest.mark.parametrize(
        ("request_kind", "verb"),
        [
            ("put", lambda storage: storage.put_manifest(JOB, 2, b"")),
            ("read", lambda storage: storage.get_latest_checkpoint(JOB, 1)),
            ("list", lambda storage: storage.list_checkpoints(JOB, 1)),
            ("delete", lambda storage: storage.delete_checkpoint(JOB, 1, 1)),
        ],
        ids=["put", "read", "list", "delete"],
    )
    def test_p11_a_refusal_names_operation_and_path_and_chains_its_cause(
        self,
        storage: CheckpointStorage,
        monkeypatch: pytest.MonkeyPatch,
        request_kind: str,
        verb: Callable[[CheckpointStorage], object],
    ) -> None:
        storage.store_checkpoint(checkpoint(claim(storage), 1))
        cause = PermissionError(errno.EACCES, "the backend said no")
        with self.failing(storage, monkeypatch, request_kind, cause), pytest.raises(StorageAccessError) as caught:
            verb(storage)
        text = str(caught.value)
        assert request_kind in text
        assert JOB in text
        assert getattr(storage, "backend", "") in text
        assert "the backend said no" in text
        assert cause in _causes(caught.value)
        assert not caught.value.retryable
        trace = "".join(traceback.format_exception(caught.value))
        assert not any(secret in trace for secret in self.secrets)

    @pytest.mark.parametrize("request_kind", ["put", "read", "list", "delete"])
    def test_p11_what_passes_by_itself_is_tried_again(
        self, storage: CheckpointStorage, monkeypatch: pytest.MonkeyPatch, request_kind: str
    ) -> None:
        epoch = claim(storage)
        storage.store_checkpoint(checkpoint(epoch, 1))
        with self.failing(storage, monkeypatch, request_kind, ConnectionResetError("cut"), times=1):
            storage.store_checkpoint(checkpoint(epoch, 2))
            assert storage.get_latest_checkpoint(JOB, 1) == checkpoint(epoch, 2)
            storage.delete_checkpoint(JOB, 1, 2)
            assert refs(storage) == [(epoch, 1)]

    def test_p11_no_secret_is_logged(
        self,
        factory: CheckpointStorageFactory,
        configuration: dict[str, str],
        backdoor: Backdoor,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        caplog.set_level(logging.INFO)
        caplog.set_level(logging.DEBUG, logger="seatunnel")
        with factory.create({**configuration, "max-retained": "1", "a-key-that-nobody-knows": "1"}) as storage:
            epoch = claim(storage)
            storage.store_checkpoint(checkpoint(epoch, 1, b"hidden states"))
            storage.store_checkpoint(checkpoint(epoch, 2, b"hidden states"))
            backdoor.write(backdoor.only(".ckpt"), b"")
            with pytest.raises(CheckpointCorruptedError):
                storage.get_latest_checkpoint(JOB, 1, on_corrupted="previous")
            storage.delete_job(JOB)
        assert "a-key-that-nobody-knows" in caplog.text
        assert not any(secret in caplog.text for secret in (*self.secrets, "hidden states"))

    def test_p11_a_closed_storage_says_so(self, storage: CheckpointStorage) -> None:
        with storage as entered:
            assert entered is storage
            epoch = claim(storage)
        storage.close()
        verbs: list[Callable[[], object]] = [
            lambda: storage.store_checkpoint(checkpoint(epoch, 1)),
            lambda: storage.get_latest_checkpoint(JOB, 1),
            lambda: storage.list_jobs(),
        ]
        for verb in verbs:
            with pytest.raises(StorageClosedError, match="closed"):
                verb()


def _causes(error: BaseException) -> list[BaseException]:
    return [error, *(_causes(error.__cause__) if error.__cause__ else ())]
