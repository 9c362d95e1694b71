"""The REST of a node, asked as a server would, without one."""

import asyncio
from typing import Any

from seatunnel_core.server.agent.agent import Agent
from seatunnel_core.server.rest.access import LOCAL, AuthPolicy
from seatunnel_core.server.rest.application import application


def answered(
    agent: Agent,
    path: str,
    *,
    method: str = "GET",
    query: str = "",
    body: bytes = b"",
    client: tuple[str, int] | None = None,
    signed: bool = False,
    policy: AuthPolicy = LOCAL,
    host: str = "127.0.0.1:8080",
    **headers: str,
) -> tuple[int, dict[str, str], bytes]:
    """Return the status, the headers and the body of an answer; ``_`` in a header's name is a hyphen."""
    headers = {"host": host, **headers}
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "root_path": "",
        "scheme": "http",
        "server": ("node", 80),
        "client": client,
        "headers": [(name.replace("_", "-").encode(), text.encode()) for name, text in headers.items()],
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(application(agent, signed=signed, policy=policy)(scope, receive, send))
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent[1:])
