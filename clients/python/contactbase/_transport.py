from __future__ import annotations

import http.client
import json
import random
import socket
import ssl
import time
import urllib.error
import urllib.request
import uuid
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any, Mapping, NamedTuple
from urllib.parse import quote, urlencode

from ._errors import ContactbaseError

_FIRST_PAUSE = 0.25  # seconds; doubled with each attempt
_LONGEST_PAUSE = 8.0
_LONGEST_RETRY_AFTER = 60.0  # a longer Retry-After is raised as an error


class Answer(NamedTuple):
    """A response, read to its end."""

    status: int
    reason: str
    headers: Message
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    def error(self) -> ContactbaseError:
        return ContactbaseError(self.status, self.reason, self.body, self.headers.get("X-Request-Id"), retry_after(self.headers))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, which would send the key to another address."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        return None


class Transport:
    """Sends requests to an installation and retries temporary failures."""

    def __init__(self, base: str, key: str, max_retries: int, timeout: float) -> None:
        self._base = base
        self._headers = {"Authorization": "Bearer " + key, "User-Agent": "contactbase-python", "Accept": "application/json"}
        self._max_retries = max_retries
        self._timeout = timeout
        self._opener = urllib.request.build_opener(_NoRedirect)

    def call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        headers: Mapping[str, str | None] | None = None,
    ) -> Answer:
        """Return the response of a request, and raise a ContactbaseError unless it is a success."""
        sent = {**self._headers, **{name: value for name, value in (headers or {}).items() if value is not None}}
        data = None
        if body is not None:
            data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
            sent["Content-Type"] = "application/json"
        if method == "POST":
            sent.setdefault("Idempotency-Key", str(uuid.uuid4()))
        address = self._base + path + ("?" + urlencode(query) if query else "")
        answer = self._retried(urllib.request.Request(address, data, sent, method=method))
        if not 200 <= answer.status < 300:
            raise answer.error()
        return answer

    def _retried(self, request: urllib.request.Request) -> Answer:
        """Send a request until its response is final."""
        # Without a response, the write may have been applied, unless there was no connection. A conditional write could
        # then fail because of its own first attempt.
        conditional = request.has_header("If-match") or request.has_header("If-none-match")
        attempt = 0
        while True:
            pause = _backoff(attempt)
            try:
                answer = self._send(request)
                after = retry_after(answer.headers) or 0.0
                if attempt >= self._max_retries or after > _LONGEST_RETRY_AFTER or not _repeatable(answer, conditional):
                    return answer
                if after > 0:
                    pause = after + random.uniform(0, _FIRST_PAUSE)  # clients with the same Retry-After do not return at once
            except OSError as error:
                if conditional and _received(error):
                    raise ConnectionError(f"{error}: the change may be stored, so read the contact again") from error
                if attempt >= self._max_retries or isinstance(_cause(error), ssl.SSLCertVerificationError):
                    raise
            time.sleep(pause)
            attempt += 1

    def _send(self, request: urllib.request.Request) -> Answer:
        """Make one attempt. It raises an OSError if there is no whole response."""
        try:
            try:
                response: Any = self._opener.open(request, timeout=self._timeout)
            except urllib.error.HTTPError as error:
                response = error
            with response:
                return Answer(response.status, response.reason or "", response.headers, response.read())
        except http.client.HTTPException as error:
            raise ConnectionError(f"the response is incomplete: {error!r}") from error


def _repeatable(answer: Answer, conditional: bool) -> bool:
    """Report whether a retry may succeed and is safe."""
    if answer.status == 429:
        return True
    if answer.status == 503:  # unreplicated is a write that is stored
        return not conditional or answer.error().code != "unreplicated"
    if answer.status == 409:
        return answer.error().code == "idempotency_key_in_use"
    return answer.status in (502, 504) and not conditional  # of a proxy


def _cause(error: OSError) -> Any:
    return error.reason if isinstance(error, urllib.error.URLError) else error


def _received(error: OSError) -> bool:
    """Report whether the installation may have received a request whose attempt failed."""
    return not isinstance(_cause(error), (ConnectionRefusedError, socket.gaierror, ssl.SSLCertVerificationError))


def _backoff(attempt: int) -> float:
    """Return the delay after an attempt, counted from 0. It doubles with each attempt; up to half of it is random."""
    most = min(_FIRST_PAUSE * 2 ** min(attempt, 10), _LONGEST_PAUSE)
    return random.uniform(most / 2, most)


def part(text: str) -> str:
    """Return a text as a part of a path, and raise a ValueError for none, which would call another path."""
    if not text:
        raise ValueError("the id is empty")
    return quote(text, safe="")


def retry_after(headers: Message) -> float | None:
    """Return the seconds in Retry-After, if any."""
    text = headers.get("Retry-After", "")
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (TypeError, ValueError, IndexError):
        return None
