from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator

from ._transport import Transport

_PATH = "/api/ext/v1/events"
_LARGEST_PAGE = 1000
_WAIT = 20  # seconds: shorter than the timeout of an attempt

Event = dict[str, Any]
"""An event, as webhooks receive it: its ``id``, its ``type``, such as ``contact.created``, and its ``data``.

If the contact was deleted later, the event has ``erased`` and only the contact's ``id``. Later versions and extensions of an
installation may return other types, which can be ignored.
"""


class Feed(Iterator[Event]):
    """Iterates over events, reading page by page."""

    cursor: str
    """The cursor after the events that the iteration has returned. Store it in the same transaction as your changes."""

    def __init__(self, page: Callable[[str], dict[str, Any]], after: str, ends: bool) -> None:
        self.cursor = after
        self._page = page
        self._ends = ends
        self._events: list[Event] = []
        self._next = 0
        self._after = after
        self._is_last = False

    def __next__(self) -> Event:
        while self._next == len(self._events):
            if self._is_last:
                raise StopIteration
            page = self._page(self._after)
            self._events, self._next = page["data"], 0
            self._after = page["cursor"]
            self._is_last = self._ends and not page["hasMore"]
            if not self._events:
                self.cursor = self._after
        event = self._events[self._next]
        self._next += 1
        # the cursor of a page is also past what the filter excludes, so it does not expire
        self.cursor = event["id"] if self._next < len(self._events) else self._after
        return event


class Events:
    """The event feed: the events of the key's tenant in commit order, as webhooks receive them.

    A cursor is the ``cursor`` of a feed, or the ``id`` of an event. If you store it in the same transaction as your changes,
    no event is missed or handled twice. If later events have been deleted, a ContactbaseError has the code
    ``cursor_expired``: call ``now``, read all contacts, and continue from that cursor.
    """

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def now(self) -> str:
        """Return the cursor after the newest event."""
        cursor: str = self._transport.call("GET", _PATH).json()["cursor"]
        return cursor

    def list(
        self, after: str, *, types: Iterable[str] | None = None, contact: str | None = None, limit: int = _LARGEST_PAGE
    ) -> Feed:
        """Iterate over the events after the cursor, and end with the last one. The empty cursor is before the oldest.

        ``types`` are event types, ``contact`` is the ID of one contact, and ``limit`` the number of events per page.
        """
        return self._feed(after, types, contact, limit, wait=0)

    def follow(
        self,
        after: str,
        *,
        types: Iterable[str] | None = None,
        contact: str | None = None,
        limit: int = _LARGEST_PAGE,
        wait: int = _WAIT,
    ) -> Feed:
        """Iterate over the events after the cursor, and wait for new ones.

        It ends by raising the error of an installation that could not be reached for 30 seconds. ``wait`` is how many
        seconds a request waits for an event: 1 to 30, and less than the client's timeout.
        """
        return self._feed(after, types, contact, limit, wait)

    def _feed(self, after: str, types: Iterable[str] | None, contact: str | None, limit: int, wait: int) -> Feed:
        query = {"limit": str(limit)}
        if types is not None:
            query["types"] = ",".join(types)
        if contact is not None:
            query["contact"] = contact
        if wait:
            query["wait"] = str(wait)

        def page(cursor: str) -> dict[str, Any]:
            answer: dict[str, Any] = self._transport.call("GET", _PATH, {"after": cursor, **query}).json()
            return answer

        return Feed(page, after, ends=wait == 0)
