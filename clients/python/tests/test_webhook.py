from __future__ import annotations

import base64
import hashlib
import hmac
import time
import unittest
from email.message import Message

from contactbase.webhook import NotVerifiedError, verify

SECRET = "whsec_" + base64.b64encode(b"contactbase-example-secret-32-by").decode()
BODY = '{"id":"evt_1","type":"contact.created","data":{"name":"Zoë"}}'.encode()


def sign(key: bytes, timestamp: str, body: bytes = BODY) -> str:
    mac = hmac.new(key, f"evt_1.{timestamp}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(mac.digest()).decode()


def headers(signature: str, timestamp: str) -> dict[str, str]:
    return {"webhook-id": "evt_1", "webhook-timestamp": timestamp, "webhook-signature": signature}


class VerifyTest(unittest.TestCase):
    now = str(int(time.time()))
    key = base64.b64decode(SECRET[6:])

    def test_valid(self) -> None:
        signature = sign(self.key, self.now)
        for name, secret, sent in [
            ("a generated secret", SECRET, signature),
            ("beside the signature of an older secret", SECRET, sign(b"old", self.now) + " " + signature),
            ("beside a signature of another version", SECRET, "v1a,eHk= " + signature),
            ("a secret of one's own", "correct horse", sign(b"correct horse", self.now)),
            ("a prefix without base64", "whsec_correct horse", sign(b"whsec_correct horse", self.now)),
        ]:
            with self.subTest(name):
                self.assertEqual(verify(BODY, headers(sent, self.now), secret)["data"]["name"], "Zoë")

    def test_kinds_of_headers(self) -> None:
        sent = headers(sign(self.key, self.now), self.now)
        message = Message()
        for name, value in sent.items():
            message[name.title()] = value
        self.assertEqual(verify(BODY, message, SECRET)["id"], "evt_1")
        self.assertEqual(verify(BODY.decode(), {name.upper(): value for name, value in sent.items()}, SECRET)["id"], "evt_1")

    def test_invalid(self) -> None:
        signature = sign(self.key, self.now)
        old, future = str(int(self.now) - 400), str(int(self.now) + 400)
        for name, body, sent in [
            ("another body", BODY + b" ", headers(signature, self.now)),
            ("another secret", BODY, headers(sign(b"x", self.now), self.now)),
            ("an old request", BODY, headers(sign(self.key, old), old)),
            ("a request of the future", BODY, headers(sign(self.key, future), future)),
            ("a timestamp that is no number", BODY, headers(sign(self.key, "now"), "now")),
            ("a huge timestamp", BODY, headers(signature, "9" * 5000)),
            ("no base64", BODY, headers("v1,é v1, v1 \udcff", self.now)),
            ("no headers", BODY, {}),
            ("no id", BODY, {**headers(signature, self.now), "webhook-id": None}),
        ]:
            with self.subTest(name), self.assertRaises(NotVerifiedError):
                verify(body, sent, SECRET)
        self.assertRaises(ValueError, verify, BODY, headers(signature, self.now), "")


if __name__ == "__main__":
    unittest.main()
