"""Verifies the events that an installation of Contactbase sends to webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import time
from typing import Any, Iterable, Protocol

from ._events import Event

__all__ = ["Headers", "NotVerifiedError", "verify"]

_TOLERANCE = 5 * 60  # seconds


class Headers(Protocol):
    """The headers of a request: a dict, or those of http.server, Flask, Django or Starlette."""

    def items(self) -> Iterable[tuple[Any, Any]]: ...


class NotVerifiedError(Exception):
    """A request has no valid signature. Respond with 401."""


def verify(body: bytes | str, headers: Headers, secret: str) -> Event:
    """Return the event in the raw body of a request.

    It checks the Standard Webhooks headers with the webhook's secret: one of the signatures must be valid, and at most
    5 minutes old. Otherwise it raises a NotVerifiedError. An event can arrive more than once, with the same ``id``.
    """
    if not secret:
        raise ValueError("there is no secret")
    sent = {str(name).lower(): value for name, value in headers.items()}
    names = ("webhook-id", "webhook-timestamp", "webhook-signature")
    id, timestamp, signatures = (str(sent.get(name) or "") for name in names)
    if not id or not timestamp or not signatures:
        raise NotVerifiedError("a header is missing")
    if not re.fullmatch("[0-9]{1,12}", timestamp) or abs(time.time() - int(timestamp)) > _TOLERANCE:
        raise NotVerifiedError("the timestamp is not of the last 5 minutes")
    raw = body.encode() if isinstance(body, str) else bytes(body)
    signed = f"{id}.{timestamp}.".encode("utf-8", "replace") + raw
    expected = hmac.new(_key(secret), signed, hashlib.sha256).digest()
    for signature in signatures.split(" "):
        version, _, encoded = signature.partition(",")
        if version == "v1" and hmac.compare_digest(_decode(encoded), expected):
            event: Event = json.loads(raw)
            return event
    raise NotVerifiedError("no signature fits")


def _key(secret: str) -> bytes:
    """Return the signing key: the decoded part after ``whsec_``, or the whole of a custom secret."""
    prefix = "whsec_"
    decoded = _decode(secret[len(prefix) :]) if secret.startswith(prefix) else b""
    return decoded or secret.encode()


def _decode(text: str) -> bytes:
    """Return the bytes of a text in base64, and none if it is invalid."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        return b""
