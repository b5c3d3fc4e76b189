from __future__ import annotations

import unittest

from contactbase import ContactbaseError

from .network import Network, Reply, refusal, reply


def page(cursor: str, *ids: str, more: bool = False) -> Reply:
    return reply(200, {"data": [{"id": id, "type": "contact.created"} for id in ids], "hasMore": more, "cursor": cursor})


class EventsTest(Network):
    def test_pages(self) -> None:
        sent = self.serve(page("c1", "e1", "e2", more=True), page("c2", more=True), page("c3", "e9"))
        feed = self.client.events.list("c0", types=["contact.created", "contact.deleted"], contact="a")
        self.assertEqual(feed.cursor, "c0")
        self.assertEqual([(event["id"], feed.cursor) for event in feed], [("e1", "e1"), ("e2", "c1"), ("e9", "c3")])
        self.assertEqual([s.query.pop("after") for s in sent], ["c0", "c1", "c2"])
        self.assertEqual(sent[0].query, {"limit": "1000", "types": "contact.created,contact.deleted", "contact": "a"})
        self.assertEqual(list(feed), [])

    def test_events_of_extensions(self) -> None:
        paid = {"id": "e1", "type": "order.paid", "data": {"total": 5}, "source": {"type": "extension"}}
        sent = self.serve(reply(200, {"data": [paid], "hasMore": False, "cursor": "c1"}))
        self.assertEqual(list(self.client.events.list("c0", types=["order.paid"])), [paid])
        self.assertEqual(sent[0].query["types"], "order.paid")

    def test_cursor_past_what_the_filter_excludes(self) -> None:
        self.serve(page("c1"))
        feed = self.client.events.list("c0", types=["contact.deleted"])
        self.assertEqual((list(feed), feed.cursor), ([], "c1"))

    def test_follow(self) -> None:
        sent = self.serve(page("c1", "e1"), page("c1"), refusal(503, "unavailable"), page("c2", "e2"), refusal(410, "cursor_expired"))
        feed = self.client.events.follow("c0")
        self.assertEqual([next(feed)["id"], next(feed)["id"], feed.cursor], ["e1", "e2", "c2"])
        with self.assertRaises(ContactbaseError) as caught:
            next(feed)
        self.assertEqual(caught.exception.code, "cursor_expired")
        self.assertEqual({s.query["wait"] for s in sent}, {"20"})

    def test_now(self) -> None:
        sent = self.serve(page("c7"))
        self.assertEqual((self.client.events.now(), sent[0].query), ("c7", {}))


if __name__ == "__main__":
    unittest.main()
