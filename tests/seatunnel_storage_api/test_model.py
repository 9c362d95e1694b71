"""One history of the model, played by hand, so that each of its rules is seen to work whatever chance brings."""

from seatunnel_storage_api.memory import MemoryStorageFactory
from seatunnel_storage_api.state import CheckpointType
from seatunnel_storage_api.testing.backdoor import DictionaryBackdoor
from seatunnel_storage_api.testing.model import History


def test_every_rule_once() -> None:
    factory = MemoryStorageFactory()
    bound = {
        "open_storage": lambda _: factory.create({"max-retained": "2"}),
        "backdoor": DictionaryBackdoor(factory.blobs),
    }
    game = type("Game", (History,), bound)()
    game.begin()
    game.damage_the_newest(pipeline=1)
    first = game.start(pipeline=1, minimum=4)

    def store(engine: object, number: int, states: bytes = b"") -> None:
        game.store(engine=engine, number=number, kind=CheckpointType.CHECKPOINT, states=states)
        game.the_storage_holds_what_the_oracle_knows()

    store(first, 8)
    game.damage_the_newest(pipeline=1)
    store(first, 8, b"in conflict")
    store(first, 7)
    game.damage_the_newest(pipeline=1)
    store(first, 6)
    store(first, 9)
    assert sorted(game.oracles[1].kept) == [(4, 8), (4, 9)]
    second = game.start(pipeline=1, minimum=0)
    store(first, 5)
    store(second, 1)
    game.reopen()
    game.delete(pipeline=1, number=1)
    game.delete_job()
    game.the_storage_holds_what_the_oracle_knows()
    game.teardown()
