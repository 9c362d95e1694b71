"""Server settings that allow a job to continue on another server after a failover."""

from seatunnel_core.connectors.mysql_cdc.server import Server, ServerState

_ON = ("1", "ON")


def obstacle(server: Server, state: ServerState) -> str:
    """Return the server setting that prevents finding log positions by GTIDs; empty if there is none."""
    if not state.has_gtids:
        return f"gtid_mode is {state.settings.get('gtid_mode', 'OFF')} instead of ON"
    if not state.is_maria:
        return ""
    settings = server.settings(("gtid_strict_mode", "wsrep_on"))
    if settings.get("wsrep_on", "").upper() in _ON:
        return "the server belongs to a Galera cluster (wsrep_on = ON), where each node may assign its own GTIDs"
    strict = settings.get("gtid_strict_mode", "").upper()
    if strict in _ON:
        return ""
    return f"gtid_strict_mode is {strict or 'OFF'} instead of ON, so the order of transactions is not guaranteed"


def failover_note(server: Server, state: ServerState) -> str:
    """Return a sentence about failovers for ``--check``."""
    if found := obstacle(server, state):
        return f"after a failover the job cannot continue at another server, because {found}"
    return "after a failover the job can continue at a server that has logged the same transactions (GTIDs)"
