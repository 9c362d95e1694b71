"""A kernel of Jupyter without a browser: cells are run one by one, and what each shows is kept as a notebook does."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attrs import define, frozen

Message = dict[str, Any]


@frozen
class Ran:
    """What a cell did."""

    error: str
    """The name of the exception that ended it; empty when none did."""

    traceback: str
    """What a notebook shows of it."""

    outputs: list[Message]
    """What is shown below it in the end, by MIME type; what was updated is there once, in its last form."""

    updates: list[Message]
    """Each form that an output had, one after the other."""

    printed: str

    @property
    def html(self) -> list[str]:
        return [output.get("text/html", "") for output in self.outputs]


@define(eq=False)
class Kernel:
    """A running kernel."""

    manager: Any
    client: Any

    def run(self, cell: str, *, timeout_s: float = 120, watch: Callable[["Ran"], None] = lambda _: None) -> Ran:
        """Run a cell to its end; ``watch`` is called at each output, and may interrupt."""
        asked = self.client.execute(cell)
        messages: list[Message] = []
        while True:
            message = self.client.get_iopub_msg(timeout=timeout_s)
            if message["parent_header"].get("msg_id") != asked:
                continue
            messages.append(message)
            if message["header"]["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                return ran(messages)
            if message["header"]["msg_type"] in ("display_data", "update_display_data"):
                watch(ran(messages))

    def interrupt(self) -> None:
        """What the stop button does."""
        self.manager.interrupt_kernel()


def ran(messages: list[Message]) -> Ran:
    error, traceback, printed = "", "", ""
    outputs: dict[Any, Message] = {}
    updates: list[Message] = []
    for number, message in enumerate(messages):
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "error":
            error, traceback = content["ename"], "\n".join(content["traceback"])
        elif kind == "stream":
            printed += content["text"]
        elif kind in ("display_data", "update_display_data", "execute_result"):
            place = content.get("transient", {}).get("display_id", number)
            assert kind != "update_display_data" or place in outputs, "another cell's output was updated"
            outputs[place] = content["data"]
            updates.append(content["data"])
    return Ran(error=error, traceback=traceback, outputs=list(outputs.values()), updates=updates, printed=printed)


@contextmanager
def a_kernel(folder: Path) -> Iterator[Kernel]:
    """Give a kernel that works in a folder."""
    from jupyter_client.manager import KernelManager

    manager = KernelManager(kernel_name="python3", transport="ipc", ip=str(folder / "ipc"))
    manager.start_kernel(cwd=str(folder), env={**os.environ, "IPYTHONDIR": str(folder / "ipython")})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        yield Kernel(manager, client)
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
        manager.cleanup_resources()
