from __future__ import annotations

import json
from typing import Any, Mapping, TypedDict


class FieldError(TypedDict):
    """The error of a field or a parameter."""

    code: str
    message: str


class ContactbaseError(Exception):
    """The error response of an installation. An installation describes the codes at ``/docs/errors-and-limits``."""

    status: int
    """The HTTP status."""

    code: str | None
    """For programs. None if the response does not come from an installation."""

    message: str
    """For people. Its wording may change."""

    request_id: str | None
    """Identifies the request in the installation's log."""

    fields: Mapping[str, FieldError]
    """The errors by field or parameter."""

    results: list[dict[str, Any]]
    """The result of each item, with ``batch_failed``."""

    retry_after: float | None
    """How many seconds to wait, if known."""

    def __init__(self, status: int, reason: str, body: bytes, request_id: str | None, retry_after: float | None) -> None:
        detail = _detail(body)
        self.status = status
        self.code = detail.get("code")
        self.message = detail.get("message") or reason or f"HTTP {status}"
        self.request_id = detail.get("requestId") or request_id
        self.fields = detail.get("fields") or {}
        self.results = detail.get("results") or []
        self.retry_after = retry_after
        super().__init__(self.message)

    def __str__(self) -> str:
        named = [f"{name}: {error['message']}" for name, error in self.fields.items() if error["message"] not in self.message]
        return " · ".join([f"{self.status} {self.code or ''}".strip() + f": {self.message}", *named])


def _detail(body: bytes) -> dict[str, Any]:
    """Return the error in a body, and nothing if it does not come from an installation."""
    try:
        detail = json.loads(body)["error"]
        return detail if isinstance(detail["code"], str) else {}
    except (ValueError, KeyError, TypeError):
        return {}
