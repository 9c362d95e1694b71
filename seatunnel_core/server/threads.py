"""Threads of this process, in the format of SeaTunnel's REST API."""

import sys
import threading
import traceback
from typing import Any


def thread_dump() -> list[dict[str, Any]]:
    """Return all threads with their stacks, but without local variables, which may contain secrets."""
    frames = sys._current_frames()
    found = []
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        stack = [] if frame is None else traceback.extract_stack(frame)[::-1]
        found.append(
            {
                "threadName": thread.name,
                "threadId": thread.native_id or 0,
                "threadState": "RUNNABLE" if thread.is_alive() else "TERMINATED",
                "stackTrace": "\n".join(f"{each.name}({each.filename}:{each.lineno})" for each in stack),
            }
        )
    return found
