from __future__ import annotations

import socket
import unittest
from typing import Any
from unittest import mock

from contactbase import Contactbase, ContactbaseError

from .network import ADA, RESET, Network, Reply, refusal, reply

DONE = reply(201, {"data": ADA})
HALF = Reply(201, '{"data":', missing=10)


class RetriesTest(Network):
    def attempt(self, replies: list[Reply], **condition: Any) -> tuple[int, Any]:
        """Return the number of attempts, and the status or the error that they come to."""
        sent = self.serve(*replies)
        outcome: Any = 200
        try:
            if condition:
                self.client.contacts.update("a", {}, **condition)
            else:
                self.client.contacts.create({"name": "Ada"})
        except ContactbaseError as error:
            outcome = error.status
        except OSError:
            outcome = "unreachable"
        self.assertEqual({s.headers.get("idempotency-key") for s in sent}, {sent[0].headers.get("idempotency-key")})
        self.assertEqual(len(self.pauses()), len(sent) - 1)
        return len(sent), outcome

    def test_what_is_repeated(self) -> None:
        condition = {"if_match": '"v1"'}
        for name, replies, extra, want in [
            ("at once", [DONE], {}, (1, 200)),
            ("too many requests", [refusal(429, "rate_limited"), DONE], {}, (2, 200)),
            ("unavailable", [refusal(503, "unavailable"), DONE], {}, (2, 200)),
            ("a proxy without upstream", [Reply(502), Reply(504), DONE], {}, (3, 200)),
            ("reset", [RESET, RESET, DONE], {}, (3, 200)),
            ("half an answer", [HALF, DONE], {}, (2, 200)),
            ("the first attempt still runs", [RESET, refusal(409, "idempotency_key_in_use"), DONE], {}, (3, 200)),
            ("another conflict", [refusal(409, "in_use"), DONE], {}, (1, 409)),
            ("invalid", [refusal(400, "validation_failed"), DONE], {}, (1, 400)),
            ("an error of the installation", [refusal(500, "internal_error"), DONE], {}, (1, 500)),
            ("never connected", [RESET], {}, (9, "unreachable")),
            ("never available", [refusal(503, "unavailable")], {}, (9, 503)),
            ("told to wait too long", [refusal(503, "unavailable", Retry_After="61")], {}, (1, 503)),
            ("unreplicated", [refusal(503, "unreplicated"), DONE], {}, (2, 200)),
            ("a condition, unreplicated", [refusal(503, "unreplicated"), DONE], condition, (1, 503)),
            ("a condition, unavailable", [refusal(503, "unavailable"), DONE], condition, (2, 200)),
            ("a condition, reset", [RESET, DONE], condition, (1, "unreachable")),
            ("a condition, behind a proxy", [Reply(502), DONE], condition, (1, 502)),
            ("a condition, half an answer", [HALF, DONE], condition, (1, "unreachable")),
        ]:
            with self.subTest(name):
                self.assertEqual(self.attempt(replies, **extra), want)

    def test_a_lost_response(self) -> None:
        for lost in (RESET, HALF):
            self.serve(lost)
            with self.assertRaisesRegex(ConnectionError, "the change may be stored, so read the contact again"):
                self.client.contacts.update("a", {}, if_match='"v1"')

    def test_pauses(self) -> None:
        self.attempt([refusal(503, "unavailable")])
        for attempt, pause in enumerate(self.pauses()):
            most = min(0.25 * 2**attempt, 8)
            self.assertTrue(most / 2 <= pause <= most, f"{pause} after attempt {attempt}")
        self.attempt([refusal(429, "rate_limited", Retry_After="7"), DONE])
        self.assertTrue(7 <= self.pauses()[0] < 7.5)
        self.attempt([refusal(503, "unavailable", Retry_After="Wed, 21 Oct 2015 07:28:00 GMT"), DONE])
        self.assertLess(self.pauses()[0], 1)

    def test_two_calls_are_two_contacts(self) -> None:
        sent = self.serve(DONE)
        self.client.contacts.create({})
        self.client.contacts.create({})
        self.assertNotEqual(sent[0].headers["idempotency-key"], sent[1].headers["idempotency-key"])

    def test_without_a_connection(self) -> None:
        sent = self.serve(reply(200, {"data": ADA}))
        for error, attempts in [(ConnectionRefusedError(), 3), (socket.gaierror(), 3), (ConnectionResetError(), 1)]:
            client = Contactbase(url=self.base, key="cmk_1", max_retries=2)
            with mock.patch("socket.create_connection", side_effect=error) as connect, self.assertRaises(OSError):
                client.contacts.update("a", {}, if_match='"v1"')
            self.assertEqual(connect.call_count, attempts, error)
        self.assertEqual(sent, [])


if __name__ == "__main__":
    unittest.main()
