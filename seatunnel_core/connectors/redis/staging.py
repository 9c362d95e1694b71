"""State of a pipeline's sink in Redis, and the atomic scripts that change it.

::

    seatunnel:{<job>:<pipeline>:<sink>}:epoch          the newest epoch; others are rejected
    seatunnel:{<job>:<pipeline>:<sink>}:staged         a set of the names of staged lists
    seatunnel:{<job>:<pipeline>:<sink>}:rows:<name>    a list of the commands of one attempt
    seatunnel:{<job>:<pipeline>:<sink>}:commits        a hash: the number of published commands of each list

A name is ``<committable ID>:<attempt>``, and the ID is ``<source>-<epoch>-<unit>``. Each script gets the prefix, the
epoch, and further arguments. It returns a list that begins with the outcome; if the epochs differ, this is ``lost``,
followed by the newest epoch. A command consists of five list elements: the number of its words, and four words
including padding.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import frozen

from seatunnel_core.connector_api.errors import SinkError
from seatunnel_core.connector_api.sink import SinkContext, WriterContext
from seatunnel_core.connectors.keyed.rows import shown
from seatunnel_core.connectors.redis.server import Server
from seatunnel_core.connectors.staging.lists import Item, Published, StagedLists

BEGIN = """
local known = tonumber(redis.call('GET', KEYS[1] .. 'epoch') or 0)
if known < tonumber(ARGV[2]) or known > tonumber(ARGV[1]) then return {'lost', tostring(known)} end
redis.call('SET', KEYS[1] .. 'epoch', ARGV[1])
return {'done'}
"""
"""Script that records the epoch, unless the recorded epoch is below ``prepared_in`` or newer."""

STAGE = """
local known = redis.call('GET', KEYS[1] .. 'epoch') or '0'
if known ~= ARGV[1] then return {'lost', known} end
redis.call('SADD', KEYS[1] .. 'staged', ARGV[2])
redis.call('RPUSH', KEYS[1] .. 'rows:' .. ARGV[2], unpack(ARGV, 3))
return {'done'}
"""
"""Script that appends commands to the list with the given name."""

PUBLISH = """
local known, total = redis.call('GET', KEYS[1] .. 'epoch') or '0', tonumber(ARGV[3])
if known ~= ARGV[1] then return {'lost', known} end
local rows, commits = KEYS[1] .. 'rows:' .. ARGV[2], KEYS[1] .. 'commits'
local left = redis.call('LLEN', rows) / 5
if left + tonumber(redis.call('HGET', commits, ARGV[2]) or 0) ~= total then return {'gone'} end
if left == 0 then return {'before'} end
redis.call('HINCRBY', commits, ARGV[2], 0)
redis.call('LTRIM', rows, 0, -1)
redis.call('SREM', KEYS[1] .. 'staged', '')
if tonumber(ARGV[4]) > 0 then redis.call('EXPIRE', KEYS[1] .. 'none', ARGV[4]) end
local done, size, result = tonumber(ARGV[5]), 0, {'more'}
while done < tonumber(ARGV[6]) and size < 4000000 do
    local command = redis.call('LRANGE', rows, done * 5, done * 5 + 4)
    if #command == 0 then break end
    local answer = redis.pcall(unpack(command, 2, 1 + command[1]))
    if type(answer) == 'table' and answer.err then result = {'failed', command[3], answer.err} break end
    if tonumber(ARGV[4]) > 0 then redis.call('EXPIRE', command[3], ARGV[4]) end
    done, size = done + 1, size + #command[4] + #command[5]
end
redis.call('HINCRBY', commits, ARGV[2], done)
redis.call('LTRIM', rows, done * 5, -1)
if done < left then return result end
redis.call('SREM', KEYS[1] .. 'staged', ARGV[2])
return {'done'}
"""
"""Script that executes and removes commands of a list, given its name and length, and the keys' time to live.

The first ``ARGV[5]`` commands, which the client has already executed, are only removed. The others are executed up to
``ARGV[6]``, so that the server can serve other clients between calls. If a command fails, the script removes the
commands before it and stops. Redis does not roll back scripts, so four calls without effect precede the loop: they fail
first if the user lacks a permission or the memory is full.
"""

SWEEP = """
local known = redis.call('GET', KEYS[1] .. 'epoch') or '0'
if tonumber(known) > tonumber(ARGV[1]) then return {'lost', known} end
local keep, swept = {}, 0
for each = 4, #ARGV do keep[ARGV[each]] = true end
local function old(name, below)
    local id = string.match(name, '^[^:]+')
    return tonumber(string.match(id, '^%d+%-(%d+)')) < tonumber(below) and not keep[id]
end
for _, name in ipairs(redis.call('SMEMBERS', KEYS[1] .. 'staged')) do
    if old(name, ARGV[2]) then
        redis.call('UNLINK', KEYS[1] .. 'rows:' .. name)
        swept = swept + redis.call('SREM', KEYS[1] .. 'staged', name)
    end
end
for _, name in ipairs(redis.call('HKEYS', KEYS[1] .. 'commits')) do
    if old(name, ARGV[3]) then redis.call('HDEL', KEYS[1] .. 'commits', name) end
end
return {'done', tostring(swept)}
"""
"""Script that removes lists and commit records of old epochs, except for the given IDs, and counts removed lists.

Lists and records have separate limits. Epochs below the limit are old.
"""

MOST = 1_000
"""Maximum number of commands in a request. The server does not serve other clients during a request."""

_DONE = {"done": Published.NOW, "before": Published.BEFORE, "gone": Published.INCOMPLETE}


@frozen(kw_only=True)
class RedisLists(StagedLists):
    """Staged lists of a pipeline's sink, and the scripts that change them."""

    server: Server
    context: SinkContext | WriterContext
    kind: type[SinkError]
    expire: int
    """Time to live of written keys in seconds. If it is below 1, keys do not expire."""

    def __str__(self) -> str:
        return str(self.server)

    @property
    def prefix(self) -> str:
        """Prefix of the keys. In a cluster, its braces keep all keys on one node."""
        return f"seatunnel:{{{self.context.job_id}:{self.context.pipeline_id}:{self.context.sink_ordinal}}}:"

    def _run(self, script: str, *arguments: Any) -> list[str]:
        """Run a script and return its outcome. Raise an error if the server has a different epoch."""
        with self.server.client(self.kind) as client:
            found = client.eval(script, 1, self.prefix, self.context.epoch, *arguments)
        outcome = [part.decode(errors="backslashreplace") for part in found]
        if outcome[0] == "lost":
            raise self.kind(self.lost(self.context.epoch, int(outcome[1])))
        return outcome

    def begin(self, prepared_in: int) -> None:
        self._run(BEGIN, prepared_in)

    def append(self, name: str, items: Sequence[Item]) -> None:
        self._run(STAGE, name, *(part for item in items for part in padded(item)))

    def publish(self, name: str, total: int) -> Published:
        done, most, outcome = 0, 0 if self.server.cluster else MOST, ["more"]
        while outcome[0] == "more":
            outcome = self._run(PUBLISH, name, total, self.expire, done, most)
            if self.server.cluster and outcome[0] == "more":
                done = most = self._carry_out(name)
        if outcome[0] == "failed":
            raise self.server.failed(self.kind, outcome[2], f"key {outcome[1]!r}: ")
        return _DONE[outcome[0]]

    def _carry_out(self, name: str) -> int:
        """Execute the first commands of a staged list in a cluster, and return their number."""
        keys: list[bytes] = []
        with self.server.client(self.kind) as client:
            found = client.lrange(f"{self.prefix}rows:{name}", 0, MOST * 5 - 1)
            requests = client.pipeline()
            for at in range(0, len(found), 5):
                requests.execute_command(found[at + 1].decode(), *found[at + 2 : at + 1 + int(found[at])])
                keys.append(found[at + 2])
                if self.expire > 0:
                    requests.expire(found[at + 2], self.expire)
                    keys.append(found[at + 2])
            answers = requests.execute(raise_on_error=False)
        for key, answer in zip(keys, answers, strict=True):
            if isinstance(answer, Exception):
                raise self.server.failed(self.kind, answer, f"key {shown(key)}: ")
        return len(found) // 5

    def published(self) -> Mapping[str, int]:
        with self.server.client(self.kind) as client:
            return {name.decode(): int(count) for name, count in client.hgetall(f"{self.prefix}commits").items()}

    def sweep(self, lists_below: int, records_below: int, keep: frozenset[str]) -> int:
        return int(self._run(SWEEP, lists_below, records_below, *keep)[1])

    def discard(self, name: str) -> None:
        """Remove a list, and then its name. This order allows ``sweep`` to find the list after a failure."""
        with self.server.client(self.kind) as client:
            client.unlink(f"{self.prefix}rows:{name}")
            client.srem(f"{self.prefix}staged", name)

    def clear(self) -> None:
        with self.server.client(self.kind) as client:
            client.unlink(*(f"{self.prefix}{name}" for name in ("epoch", "staged", "commits")))


def padded(command: Item) -> list[int | str | bytes]:
    """Return a command as the five elements that are stored in a list."""
    return [len(command), *command, *[b""] * (4 - len(command))]
