"""Start of a job: the log position, and whether a snapshot of the tables is read first."""

from collections.abc import Sequence
from functools import partial

from seatunnel_core.connector_api.option import Options
from seatunnel_core.connectors.change_data.chunks import ChunkStart
from seatunnel_core.connectors.change_data.column_rules import path_of
from seatunnel_core.connectors.jdbc.reading import Found
from seatunnel_core.connectors.mysql_cdc import options as opt
from seatunnel_core.connectors.mysql_cdc.log_stream import begun_s
from seatunnel_core.connectors.mysql_cdc.progress import Progress
from seatunnel_core.connectors.mysql_cdc.retention import Retention
from seatunnel_core.connectors.mysql_cdc.server import Marking, Server, ServerState
from seatunnel_core.connectors.mysql_cdc.table_checks import cascades
from seatunnel_core.connectors.mysql_cdc.times import first_file
from seatunnel_core.connectors.mysql_log.position import LogPosition

_LOCKS = (
    "the server has no GTIDs, so each chunk of a table is read with LOCK IN SHARE MODE, and writers of these rows "
    "wait until the chunk has been read. Set gtid_mode = ON to read without locks"
)


def start_warnings(options: Options, server: Server, state: ServerState, tables: Sequence[Found]) -> list[str]:
    """Return the warnings for a starting job, for example about locks on chunks of its tables."""
    locks = options[opt.STARTUP_MODE] == "initial" and state.marking is Marking.LOCKS
    shown = [cascades(server, [path_of(each) for each in tables]), Retention.of(state.settings).warning()]
    return [*([_LOCKS] if locks else []), *(each for each in shown if each is not None)]


def first_progress(options: Options, server: Server, state: ServerState) -> Progress:
    """Return the progress at the start of a job."""
    mode = options[opt.STARTUP_MODE]
    if mode == "specific":
        log = LogPosition(options[opt.STARTUP_FILE], options[opt.STARTUP_POS])
    elif mode == "timestamp":
        files = server.files()
        if not server.is_replica(state):
            files = [first_file(files, options[opt.STARTUP_TIMESTAMP], partial(begun_s, server))]
        log = LogPosition(files[0], 4)
    elif mode == "earliest":
        log = LogPosition(server.files()[0], 4)
    else:
        log = server.position(state)
    stop = None
    if options[opt.STOP_MODE] == "specific":
        stop = LogPosition(options[opt.STOP_FILE], options[opt.STOP_POS])
    start = ChunkStart() if mode == "initial" else None
    return Progress(
        server=state.identity,
        log=log,
        start=start,
        stop=stop,
        since_ms=options[opt.STARTUP_TIMESTAMP],
        until_ms=options[opt.STOP_TIMESTAMP],
    )
