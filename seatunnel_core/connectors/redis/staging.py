"""State of the sink in Redis for a pipeline, and the scripts that change it, each in one atomic step.

::

    seatunnel:{<job>:<pipeline>:<sink>}:epoch          the newest epoch; others are rejected
    seatunnel:{<job>:<pipeline>:<sink>}:staged         a set of the names of staged lists
    seatunnel:{<job>:<pipeline>:<sink>}:rows:<name>    a list of the commands of one attempt
    seatunnel:{<job>:<pipeline>:<sink>}:commits        a hash with the ids of published committables

A name is ``<id of the committable>:<attempt>``, and an id ``<source>-<epoch>-<unit>``. Each script gets the prefix,
the epoch, and further arguments. A command is five elements: the number of its words, and four words with padding.
"""

from typing import Any

from seatunnel_core.connector_api.sink import SinkContext, WriterContext

BEGIN = """
local known = tonumber(redis.call('GET', KEYS[1] .. 'epoch') or 0)
if known < tonumber(ARGV[2]) or known > tonumber(ARGV[1]) then return known end
redis.call('SET', KEYS[1] .. 'epoch', ARGV[1])
return -1
"""
"""Make the epoch the newest and return -1; if the known epoch is below ``prepared_in`` or newer, return it instead."""

STAGE = """
if redis.call('GET', KEYS[1] .. 'epoch') ~= ARGV[1] then return 0 end
redis.call('SADD', KEYS[1] .. 'staged', ARGV[2])
redis.call('RPUSH', KEYS[1] .. 'rows:' .. ARGV[2], unpack(ARGV, 3))
return 1
"""
"""Append commands to the list with a name; return 0 if the epoch is not the newest."""

PUBLISH = """
local rows, id = KEYS[1] .. 'rows:' .. ARGV[2], string.match(ARGV[2], '^[^:]+')
if redis.call('GET', KEYS[1] .. 'epoch') ~= ARGV[1] then return {'lost'} end
if redis.call('EXISTS', rows) == 0 then
    return {redis.call('HEXISTS', KEYS[1] .. 'commits', id) == 1 and 'before' or 'gone'}
end
local done, size, result = tonumber(ARGV[4]), 0, {'more'}
while done < tonumber(ARGV[5]) and size < 4000000 do
    local command = redis.call('LRANGE', rows, done * 5, done * 5 + 4)
    if #command == 0 then break end
    local answer = redis.pcall(unpack(command, 2, 1 + command[1]))
    if type(answer) == 'table' and answer.err then result = {'failed', command[3], answer.err} break end
    if tonumber(ARGV[3]) > 0 then redis.call('EXPIRE', command[3], ARGV[3]) end
    done, size = done + 1, size + #command[4] + #command[5]
end
redis.call('LTRIM', rows, done * 5, -1)
if redis.call('EXISTS', rows) == 1 then return result end
redis.call('HSET', KEYS[1] .. 'commits', id, ARGV[1])
redis.call('SREM', KEYS[1] .. 'staged', ARGV[2])
return {'done'}
"""
"""Execute and remove commands of the list with a name, with a time to live for the keys.

Of the first ``ARGV[4]`` commands, which the client has executed, only remove them; execute those up to ``ARGV[5]``, so
that the server can serve other clients in between. A failed command ends the script; those before it are removed.
"""

SWEEP = """
if tonumber(redis.call('GET', KEYS[1] .. 'epoch') or 0) > tonumber(ARGV[1]) then return -1 end
local keep, swept = {}, 0
for each = 4, #ARGV do keep[ARGV[each]] = true end
local function old(id, below) return tonumber(string.match(id, '^%d+%-(%d+)')) < tonumber(below) and not keep[id] end
for _, name in ipairs(redis.call('SMEMBERS', KEYS[1] .. 'staged')) do
    if old(string.match(name, '^[^:]+'), ARGV[2]) then
        redis.call('UNLINK', KEYS[1] .. 'rows:' .. name)
        swept = swept + redis.call('SREM', KEYS[1] .. 'staged', name)
    end
end
for _, id in ipairs(redis.call('HKEYS', KEYS[1] .. 'commits')) do
    if old(id, ARGV[3]) then redis.call('HDEL', KEYS[1] .. 'commits', id) end
end
return swept
"""
"""Remove lists of epochs below one, and records of epochs below another, except of ids to keep; return the lists."""

MOST = 1_000
"""Maximum number of commands in a request; the server serves no other client meanwhile."""


def prefix(context: SinkContext | WriterContext) -> str:
    """Return the prefix of the keys of a sink; in a cluster, the braces keep the keys on one node."""
    return f"seatunnel:{{{context.job_id}:{context.pipeline_id}:{context.sink_ordinal}}}:"


def run(client: Any, script: str, context: SinkContext | WriterContext, *arguments: Any) -> Any:
    """Return the result of a script, with texts as Python strings."""
    found = client.eval(script, 1, prefix(context), context.epoch, *arguments)
    return [part.decode(errors="replace") for part in found] if isinstance(found, list) else found
