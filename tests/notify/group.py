"""A chat group of a messenger, as far as robots see it: a server that answers as told."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

#: Seconds: the longest that a request is kept without an answer.
_KEPT_S = 30.0


class Group:
    """What came, and what is answered."""

    def __init__(self) -> None:
        #: path with query, and body, of each request
        self.came: list[tuple[str, Any]] = []
        #: status, body and headers of the answers
        self.answer: tuple[int, str, dict[str, str]] = (200, '{"errcode": 0, "errmsg": "ok"}', {})
        #: no answer comes before it is set
        self.free = threading.Event()
        self.free.set()
        self._arrived = threading.Condition()
        self.port = 0

    def says(self, body: object, status: int = 200, **headers: str) -> None:
        """Has every request be answered so from now on."""
        text = body if isinstance(body, str) else json.dumps(body)
        self.answer = (status, text, headers)

    @property
    def address(self) -> str:
        """A webhook of the group."""
        return f"http://127.0.0.1:{self.port}/robot/send?access_token=SECRET0TOKEN"

    @property
    def texts(self) -> list[str]:
        """The texts that came, whichever service they are for."""
        found = []
        for _, body in self.came:
            inner = next(filter(None, map(body.get, ("text", "content", "desp", "message"))))
            found.append(inner if isinstance(inner, str) else inner.get("content") or inner["text"])
        return found

    def take(self, path: str, body: Any) -> None:
        """Takes a request in."""
        with self._arrived:
            self.came.append((path, body))
            self._arrived.notify_all()

    def has(self, count: int, limit_s: float = 15.0) -> list[str]:
        """Waits until so many requests came; their texts."""
        with self._arrived:
            there = self._arrived.wait_for(lambda: len(self.came) >= count, limit_s)
        assert there, f"not within {limit_s} s: {count} requests; {self.texts}"
        return self.texts


@contextmanager
def group() -> Iterator[Group]:
    """A group on a free port, for as long as the block lasts."""
    made = Group()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            made.take(self.path, json.loads(body))
            made.free.wait(_KEPT_S)
            status, text, headers = made.answer
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args: object) -> None:
            """Stays silent."""

        def handle_one_request(self) -> None:
            try:
                super().handle_one_request()
            except ConnectionError:  # whoever asked is gone
                self.close_connection = True

        def date_time_string(self, timestamp: float | None = None) -> str:
            return made.answer[2].get("Date") or super().date_time_string(timestamp)

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        made.free.set()
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def nobody() -> Iterator[str]:
    """A webhook's address under which nobody answers: a port that is taken, without a listener."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/robot/send?key=SECRET0KEY"


def query_of(path: str) -> list[str]:
    """The parameters of a request, in their order, as they came."""
    return urlsplit(path).query.split("&")
