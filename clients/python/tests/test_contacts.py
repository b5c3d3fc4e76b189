from __future__ import annotations

import unittest
from datetime import datetime, timezone

from contactbase import Contactbase, ContactbaseError

from .network import ADA, Network, Reply, refusal, reply

PATH = "/api/ext/v1/contacts"


class ContactsTest(Network):
    def test_calls(self) -> None:
        stored = reply(200, {"data": ADA}, ETag='"v1"')
        outcome = reply(200, {"data": {"created": 1, "results": []}})
        for call, answer, method, path, body in [
            (lambda c: c.contacts.create({"name": "Zoë"}), stored, "POST", PATH, {"name": "Zoë"}),
            (lambda c: c.contacts.get("a b"), stored, "GET", PATH + "/a%20b", None),
            (lambda c: c.contacts.update("a", {"email": None}), stored, "PATCH", PATH + "/a", {"email": None}),
            (lambda c: c.contacts.upsert("../x/ü", {}), stored, "PUT", PATH + "/by-external-id/..%2Fx%2F%C3%BC", {}),
            (lambda c: c.contacts.merge("a", ("b",)), stored, "POST", PATH + "/a/merge", {"from": ["b"]}),
            (
                lambda c: c.contacts.merge("a", ["b"], fields={"email": "b"}, dry_run=True),
                stored,
                "POST",
                PATH + "/a/merge",
                {"from": ["b"], "fields": {"email": "b"}, "dryRun": True},
            ),
            (lambda c: c.contacts.batch([{"action": "create"}]), outcome, "POST", PATH + "/batch", {"items": [{"action": "create"}]}),
            (lambda c: c.contacts.delete("a"), Reply(204), "DELETE", PATH + "/a", None),
            (lambda c: c.contacts.count(q="x"), reply(200, {"data": {"count": 3}}), "GET", PATH + "/count", None),
        ]:
            with self.subTest(path=path, method=method):
                sent = self.serve(answer)
                result = call(self.client)
                self.assertEqual([(s.method, s.path, s.body) for s in sent], [(method, path, body)])
                self.assertEqual(sent[0].headers["authorization"], "Bearer cmk_1")
                self.assertEqual("idempotency-key" in sent[0].headers, method == "POST")
                if answer is stored:
                    self.assertEqual((result["name"], result.etag), ("Ada Lovelace", '"v1"'))
        self.assertEqual((result, result.more), (3, False))
        self.serve(reply(200, {"data": {"count": 100_000, "more": True}}))
        self.assertTrue(self.client.contacts.count().more)

    def test_conditions(self) -> None:
        sent = self.serve(reply(200, {"data": ADA}))
        self.client.contacts.update("a", {}, if_match='"v1"', request_id="r7")
        self.client.contacts.upsert("a", {}, only_create=True)
        self.client.contacts.create({}, idempotency_key="order-1")
        self.assertEqual((sent[0].headers["if-match"], sent[0].headers["x-request-id"]), ('"v1"', "r7"))
        self.assertEqual(sent[1].headers["if-none-match"], "*")
        self.assertEqual(sent[2].headers["idempotency-key"], "order-1")

    def test_listed_contacts_have_no_etag(self) -> None:
        sent = self.serve(reply(200, {"data": [ADA], "hasMore": False}))
        for contact in self.client.contacts.list():
            with self.assertRaisesRegex(ValueError, r"client\.contacts\.get\(id\)"):
                self.client.contacts.update(contact["id"], {}, if_match=contact.etag)
        self.assertEqual([s.method for s in sent], ["GET"])

    def test_pages(self) -> None:
        link = "<https://elsewhere.example.com/api/ext/v1/contacts?cursor=c%2B1&limit=2>; rel=\"next\""
        sent = self.serve(
            reply(200, {"data": [{"id": "a"}, {"id": "b"}], "hasMore": True}, Link=link),
            reply(200, {"data": [{"id": "c"}], "hasMore": False}),
        )
        since = datetime(2026, 3, 4, tzinfo=timezone.utc)
        found = self.client.contacts.list(q="x y", newsletter=True, createdSince=since, email=None, limit=2, offset=1)
        self.assertEqual(next(found), {"id": "a"})
        self.assertEqual(len(sent), 1, "a page is read before it is needed")
        self.assertEqual([contact["id"] for contact in found], ["b", "c"])
        query = {"q": "x y", "newsletter": "true", "createdSince": "2026-03-04T00:00:00+00:00", "limit": "2"}
        self.assertEqual([s.query for s in sent], [{**query, "offset": "1"}, {**query, "cursor": "c+1"}])

    def test_arguments(self) -> None:
        sent = self.serve(reply(200, {"data": ADA}))
        for call in [
            lambda: self.client.contacts.delete(""),
            lambda: self.client.contacts.upsert("", {}),
            lambda: self.client.contacts.count(createdSince=datetime(2026, 3, 4)),
            lambda: self.client.contacts.create({"name": float("nan")}),
            lambda: self.client.contacts.get("a", request_id="a\r\nX-API-Key: b"),
            lambda: Contactbase(url="crm.example.com", key="cmk_1"),
            lambda: Contactbase(url="https://crm.example.com", key=" "),
        ]:
            self.assertRaises(ValueError, call)
        self.assertEqual(sent, [])

    def test_errors(self) -> None:
        fields = {"email": {"code": "invalid_email", "message": "must be an address"}}
        self.serve(
            reply(400, {"error": {"code": "validation_failed", "message": "Invalid.", "requestId": "r1", "fields": fields}}),
            refusal(429, "rate_limited", Retry_After="120"),
            Reply(404, "<html>", {"X-Request-Id": "r2"}),
            Reply(307, "", {"Location": "http://127.0.0.2/api/ext/v1/contacts"}),
        )
        errors = []
        for _ in range(4):
            with self.assertRaises(ContactbaseError) as caught:
                self.client.contacts.create({})
            errors.append(caught.exception)
        invalid, limited, foreign, redirect = errors
        self.assertEqual((invalid.status, invalid.code, invalid.fields, invalid.request_id), (400, "validation_failed", fields, "r1"))
        self.assertEqual(str(invalid), "400 validation_failed: Invalid. · email: must be an address")
        self.assertEqual((limited.code, limited.retry_after), ("rate_limited", 120))
        self.assertEqual((foreign.status, foreign.code, foreign.message, foreign.request_id), (404, None, "Not Found", "r2"))
        self.assertEqual(redirect.status, 307)


if __name__ == "__main__":
    unittest.main()
