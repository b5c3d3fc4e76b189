"""An installation that answers as it is told, and remembers what it received."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from unittest import TestCase, mock
from urllib.parse import parse_qsl, urlsplit

from contactbase import Contactbase

ADA = {"id": "0mm8yqpxck3w9xa", "name": "Ada Lovelace", "email": None}


class Reply(NamedTuple):
    status: int
    body: str = ""
    headers: dict[str, str] = {}
    missing: int = 0  # bytes of the body that never arrive


RESET = Reply(0)  # the connection ends without a response


def reply(status: int, value: Any, **headers: str) -> Reply:
    return Reply(status, json.dumps(value), {name.replace("_", "-"): text for name, text in headers.items()})


def refusal(status: int, code: str, **headers: str) -> Reply:
    return reply(status, {"error": {"code": code, "message": "Refused.", "requestId": "r1"}}, **headers)


class Sent(NamedTuple):
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: Any


class Network(TestCase):
    """A test with an installation on this machine. The last reply is repeated."""

    def serve(self, *replies: Reply) -> list[Sent]:
        sent: list[Sent] = []
        left = list(replies)

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, format: str, *args: Any) -> None:
                pass

            def handle_one_request(self) -> None:
                self.raw_requestline = self.rfile.readline()
                if not self.raw_requestline or not self.parse_request():
                    self.close_connection = True
                    return
                address = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                sent.append(Sent(self.command, address.path, dict(parse_qsl(address.query)), headers, json.loads(body or b"null")))
                answer = left.pop(0) if len(left) > 1 else left[0]
                self.close_connection = True
                if answer is RESET:
                    return
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(answer.body.encode()) + answer.missing))
                self.end_headers()
                self.wfile.write(answer.body.encode())

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        self.base = f"http://127.0.0.1:{server.server_port}"
        sleep = mock.patch("contactbase._transport.time.sleep")
        self.sleep = sleep.start()
        self.addCleanup(sleep.stop)
        self.client = Contactbase(url=self.base + "/", key=" cmk_1 ")
        return sent

    def pauses(self) -> list[float]:
        return [call.args[0] for call in self.sleep.call_args_list]
