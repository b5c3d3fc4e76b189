from __future__ import annotations

import re
from datetime import datetime
from typing import Any, Iterable, Iterator, Mapping, TypedDict, Union
from urllib.parse import parse_qs, urlsplit

from ._errors import FieldError
from ._transport import Answer, Transport, part

_PATH = "/api/ext/v1/contacts"
_LARGEST_PAGE = 200

Filter = Union[str, int, float, bool, datetime, None]
"""The value of a filter. A datetime needs a time zone; None is no filter."""


class Contact(dict[str, Any]):
    """A stored contact by its fields, custom fields included. A field without a value is None."""

    _etag: str | None = None

    @property
    def etag(self) -> str:
        """The version of the contact, for ``if_match``. A contact in a list has none: this raises a ValueError."""
        if not self._etag:
            raise ValueError("a contact in a list has no etag: get it first with client.contacts.get(id)")
        return self._etag


class Count(int):
    """A number of contacts."""

    more: bool = False
    """Whether there are more, because counting stops at 100,000."""


class _BatchItem(TypedDict):
    action: str
    """``create``, ``update``, ``upsert`` or ``delete``."""


class BatchItem(_BatchItem, total=False):
    """An item of a batch."""

    id: str
    """Of the contact, with ``update`` and ``delete``."""

    match: str
    """How ``upsert`` and ``delete`` find the contact: ``externalId`` or ``email``."""

    contact: Mapping[str, Any]


class BatchError(TypedDict, total=False):
    """Says why an item failed."""

    code: str
    message: str
    fields: dict[str, FieldError]


class BatchResult(TypedDict, total=False):
    """The result of an item: its contact, or its error if it failed."""

    index: int
    status: str
    contact: dict[str, Any]
    error: BatchError


class BatchOutcome(TypedDict, total=False):
    """The result of a batch. Single items can fail."""

    created: int
    updated: int
    unchanged: int
    deleted: int
    failed: int
    results: list[BatchResult]


class Contacts:
    """The calls about contacts. Each raises a ContactbaseError if the installation rejects it.

    An ``idempotency_key`` makes a call take effect once, even if several processes repeat it with this key within 24
    hours. By default, each call has its own. A ``request_id`` identifies the request in the installation's log.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create(
        self, fields: Mapping[str, Any], *, idempotency_key: str | None = None, request_id: str | None = None
    ) -> Contact:
        """Create a contact, which needs a name or an email address."""
        headers = {"Idempotency-Key": idempotency_key, "X-Request-Id": request_id}
        return _single(self._transport.call("POST", _PATH, body=fields, headers=headers))

    def get(self, id: str, *, request_id: str | None = None) -> Contact:
        """Return the contact with the ID."""
        return _single(self._transport.call("GET", _contact(id), headers={"X-Request-Id": request_id}))

    def update(
        self, id: str, fields: Mapping[str, Any], *, if_match: str | None = None, request_id: str | None = None
    ) -> Contact:
        """Change the given fields of the contact with the ID. None clears a field.

        With ``if_match``, the call fails with ``precondition_failed`` if the contact's ``etag`` has changed.
        """
        headers = {"If-Match": if_match, "X-Request-Id": request_id}
        return _single(self._transport.call("PATCH", _contact(id), body=fields, headers=headers))

    def upsert(
        self,
        external_id: str,
        fields: Mapping[str, Any],
        *,
        if_match: str | None = None,
        only_create: bool = False,
        request_id: str | None = None,
    ) -> Contact:
        """Update the given fields of the contact with your own identifier, or create the contact.

        With ``only_create``, the call fails with ``precondition_failed`` if the contact exists.
        """
        headers = {"If-Match": if_match, "If-None-Match": "*" if only_create else None, "X-Request-Id": request_id}
        path = _PATH + "/by-external-id/" + part(external_id)
        return _single(self._transport.call("PUT", path, body=fields, headers=headers))

    def delete(self, id: str, *, if_match: str | None = None, request_id: str | None = None) -> None:
        """Delete the contact with the ID. The key needs the permission ``contacts:delete``."""
        self._transport.call("DELETE", _contact(id), headers={"If-Match": if_match, "X-Request-Id": request_id})

    def merge(
        self,
        id: str,
        from_ids: Iterable[str],
        *,
        fields: Mapping[str, str] | None = None,
        dry_run: bool = False,
        if_match: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> Contact:
        """Merge other contacts into the contact with the ID and delete them.

        ``fields`` has, by field, the ID of the contact whose value wins. With ``dry_run``, nothing is written.
        """
        body: dict[str, Any] = {"from": list(from_ids)}
        if fields:
            body["fields"] = fields
        if dry_run:
            body["dryRun"] = True
        headers = {"If-Match": if_match, "Idempotency-Key": idempotency_key, "X-Request-Id": request_id}
        return _single(self._transport.call("POST", _contact(id) + "/merge", body=body, headers=headers))

    def batch(
        self,
        items: Iterable[BatchItem],
        *,
        atomic: bool = False,
        idempotency_key: str | None = None,
        request_id: str | None = None,
    ) -> BatchOutcome:
        """Write 1 to 1,000 contacts in order, in one transaction. Single items can fail: check the ``results``.

        With ``atomic``, the call fails with ``batch_failed``, and nothing is written, if an item fails.
        """
        body: dict[str, Any] = {"items": list(items)}
        if atomic:
            body["atomic"] = True
        headers = {"Idempotency-Key": idempotency_key, "X-Request-Id": request_id}
        outcome: BatchOutcome = self._transport.call("POST", _PATH + "/batch", body=body, headers=headers).json()["data"]
        return outcome

    def list(self, **filters: Filter) -> Iterator[Contact]:
        """Iterate over the contacts of all pages, by default the oldest first.

        The filters are the parameters of the API by their names: ``q``, ``email``, ``phone``, ``externalId``,
        ``createdSince``, ``createdBefore``, ``updatedSince``, ``updatedBefore``, ``sort``, and ``company`` and custom
        fields for which an administrator has added an index. In the default order, new contacts neither shift nor repeat
        others.
        """
        query = {"limit": str(_LARGEST_PAGE), **_parameters(filters)}
        while True:
            answer = self._transport.call("GET", _PATH, query)
            for contact in answer.json()["data"]:
                yield Contact(contact)
            cursor = _next_cursor(answer)
            if cursor is None:
                return
            query.pop("offset", None)
            query["cursor"] = cursor

    def count(self, **filters: Filter) -> Count:
        """Return how many contacts the filters of ``list`` find."""
        data = self._transport.call("GET", _PATH + "/count", _parameters(filters)).json()["data"]
        count = Count(data["count"])
        count.more = data.get("more", False)
        return count


def _single(answer: Answer) -> Contact:
    contact = Contact(answer.json()["data"])
    contact._etag = answer.headers.get("ETag")
    return contact


def _contact(id: str) -> str:
    return _PATH + "/" + part(id)


def _parameters(filters: Mapping[str, Filter]) -> dict[str, str]:
    return {name: _parameter(name, value) for name, value in filters.items() if value is not None}


def _parameter(name: str, value: Filter) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{name}: the time has no time zone")
        return value.isoformat()
    return str(value)


def _next_cursor(answer: Answer) -> str | None:
    """Return the cursor in the Link header. Its address is not used: the key goes only to the client's own."""
    link = re.match(r'<([^>]*)>.*rel="next"', answer.headers.get("Link", ""))
    cursors = parse_qs(urlsplit(link[1]).query).get("cursor") if link else None
    return cursors[0] if cursors else None
