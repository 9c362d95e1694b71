"""The sockets of a node."""

import socket

from seatunnel_core.control.knocking import knock
from seatunnel_core.server.transport.listening import listening


def test_neither_side_of_a_connection_holds_back_what_is_written() -> None:
    """Headers and body are written apart, and the second one would wait 40 ms for the first one's acknowledgement."""
    with listening("127.0.0.1", 0) as listener:
        ((_, asking),) = knock([f"127.0.0.1:{listener.getsockname()[1]}"], 3.0, [])
        answering, _ = listener.accept()
        with asking, answering:
            for end in (asking, answering):
                assert end.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
