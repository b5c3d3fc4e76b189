from __future__ import annotations

from contactbase import ContactbaseError

from .network import Network, refusal, reply

LINK = {"id": "0mm8yqpxck3w9xb", "url": "https://crm.example.com/portal/#token=x.y", "token": "x.y", "expires": "2026-03-04T17:20:11.087Z"}


class LinksTest(Network):
    def test_create(self) -> None:
        sent = self.serve(reply(200, {"data": LINK}))
        self.assertEqual(self.client.portal_links.create("t 1", role="admin", name="Ada", expires_in=300, request_id="r7"), LINK)
        self.client.portal_links.create("t1")
        path = "/api/integrations/tenants/t%201/portal-link"
        self.assertEqual(sent[0][:2] + sent[0][4:], ("POST", path, {"role": "admin", "name": "Ada", "expiresIn": 300}))
        self.assertEqual((sent[0].headers["authorization"], sent[0].headers["x-request-id"]), ("Bearer cmk_1", "r7"))
        self.assertEqual(sent[1].body, {})
        self.assertRaises(ValueError, self.client.portal_links.create, "")

    def test_refusal(self) -> None:
        self.serve(refusal(403, "insufficient_permission"))
        with self.assertRaises(ContactbaseError) as raised:
            self.client.portal_links.create("t1")
        self.assertEqual(raised.exception.code, "insufficient_permission")
