"""Storages that break promises 6, 9 and 11, about names and words. Each docstring is what their author thought."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs

from seatunnel_storage_api import configuration as shared
from seatunnel_storage_api.blob import Blob
from seatunnel_storage_api.errors import CheckpointStorageError
from seatunnel_storage_api.memory import MemoryStorage
from seatunnel_storage_api.retry import Backoff
from seatunnel_storage_api.state import PipelineState
from seatunnel_storage_api.storage import CheckpointStorage
from tests.seatunnel_storage_api.broken.given import InMemory, breaks

# -- 6: nothing leads out of the namespace


@breaks(6)
class MendsTheNamespace(InMemory):
    """A missing "/" can be added, because the intention is obvious."""

    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        namespace = "/" + configuration["namespace"].strip("/") + "/"
        return super().create({**configuration, "namespace": namespace})


@breaks(6)
class MendsIds(MemoryStorage):
    """An invalid ID can be stored under a modified name."""

    def store_checkpoint(self, state: PipelineState) -> None:
        job_id = re.sub(r"[^A-Za-z0-9_-]", "_", state.job_id)[:128] or "_"
        super().store_checkpoint(attrs.evolve(state, job_id=job_id))


# -- 9: isolated


@breaks(9)
class ListsByTheBeginning(MemoryStorage):
    """Object stores list by prefix."""

    def list_blobs(self, prefix: str) -> Iterable[Blob]:
        return super().list_blobs(prefix.rstrip("/"))


@breaks(9)
class FoldsCase(MemoryStorage):
    """Names do not differ only in case."""

    def locate(self, key: str) -> str:
        return self.namespace + key.lower()


@breaks(9)
class ShortensNames(MemoryStorage):
    """A column of 100 characters is long enough for an ID."""

    def locate(self, key: str) -> str:
        job_id, slash, rest = key.partition("/")
        return self.namespace + job_id[:100] + slash + rest


@breaks(9)
class DeletesWithItsNeighbour(MemoryStorage):
    """``DELETE … WHERE name LIKE 'a%'``."""

    def delete_job(self, job_id: str) -> None:
        for each in {job_id, *self.list_jobs()}:
            if each.startswith(job_id):
                super().delete_job(each)


# -- 11: what people are told, and what nobody is


@breaks(11)
class ShowsItsSecret(MemoryStorage):
    """``repr`` should show all fields."""

    def __repr__(self) -> str:
        return f"ShowsItsSecret({vars(self)})"


@breaks(11)
class TellsItsSecret(MemoryStorage):
    """The message should contain the complete address."""

    def _where(self, key: str) -> str:
        return f"memory://user:{vars(self)['password']}@{self.locate(key)} ({self.backend})"


@breaks(11)
class LogsItsSecret(InMemory):
    """Logging the configuration helps with debugging."""

    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        logging.getLogger("seatunnel.storage").debug("opening with %s", dict(configuration))
        return super().create(configuration)


@breaks(11)
class ChangesTheConfiguration(InMemory):
    """Known keys are removed from the mapping, so that the unknown ones remain."""

    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        storage = super().create(configuration)
        for key in ("namespace", "max-retained"):
            configuration.pop(key, None)  # type: ignore[attr-defined]
        return storage


@breaks(11)
class SharesOneStorage(InMemory):
    """Connections are expensive."""

    def create(self, configuration: Mapping[str, str]) -> CheckpointStorage:
        shared.max_retained(configuration)
        storage: CheckpointStorage = vars(self).setdefault("only", super().create(configuration))
        return storage


@breaks(11)
class LosesTheCause(MemoryStorage):
    """The message is sufficient without the cause."""

    def _attempt(self, operation: str, key: str, action: Callable[[], Any]) -> Any:
        try:
            return super()._attempt(operation, key, action)
        except CheckpointStorageError as error:
            raise type(error)(str(error)) from None


@breaks(11)
class GivesUpAtOnce(MemoryStorage):
    """The caller can retry."""

    def __init__(self, *blobs: dict[str, bytes], **more: Any) -> None:
        super().__init__(*blobs, **more)
        self._backoff = Backoff(attempts=1)


@breaks(11)
class WorksOnWhenClosed(MemoryStorage):
    """Closing has nothing to release."""

    def close(self) -> None:
        pass
