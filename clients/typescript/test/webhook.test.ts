import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { mock, test } from "node:test";

import { type Event, NotVerifiedError, verify } from "../src/webhook.js";

// The example of the guide Verify signatures.
const secret = "whsec_Y29udGFjdGJhc2UtZXhhbXBsZS1zZWNyZXQtMzItYnk=";
const id = "evt_4k9x0m2q7w8e1rt";
const timestamp = 1772641211;
const signature = "v1,Twql1fgt/NZKh9ht3lqTEI88dAhkrl8FByOKVHe0YbI=";
const body =
  '{"id":"evt_4k9x0m2q7w8e1rt","type":"contact.created","timestamp":"2026-03-04T16:20:11.087Z","data":{"id":"0mm8yqpxck3w9xa","name":"Zoë"}}';

const sign = (key: string, at: number) => "v1," + createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
const headers = (at: unknown, signature: string) => ({ "webhook-id": id, "webhook-timestamp": String(at), "webhook-signature": signature });
const sent = headers(timestamp, signature);
const other = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

mock.timers.enable({ apis: ["Date"], now: timestamp * 1000 });

for (const [what, given, fields, key] of [
  ["as sent", body, sent, secret],
  ["as bytes", Buffer.from(body), sent, secret],
  ["with the headers of fetch", body, new Headers(sent), secret],
  ["the second during a rotation", body, headers(timestamp, `${other} ${signature}`), secret],
  ["another version beside it", body, headers(timestamp, `v2,abc ${signature}`), secret],
  ["a secret that somebody typed", body, headers(timestamp, sign("correct horse", timestamp)), "correct horse"],
  ["typed with the prefix", body, headers(timestamp, sign("whsec_horsey", timestamp)), "whsec_horsey"],
  ["the prefix alone", body, headers(timestamp, sign("whsec_", timestamp)), "whsec_"],
  ["five minutes old", body, headers(timestamp - 300, sign("horse", timestamp - 300)), "horse"],
] as const) {
  test(`verifies: ${what}`, async () => {
    const event = await verify(given, fields, key);
    assert(event.type === "contact.created");
    assert.equal(event.data.name, "Zoë");
  });
}

for (const [what, given, fields, key] of [
  ["older", body, headers(timestamp - 301, sign("horse", timestamp - 301)), "horse"],
  ["of the future", body, headers(timestamp + 301, sign("horse", timestamp + 301)), "horse"],
  ["another time", body, headers(timestamp + 1, signature), secret],
  ["no time", body, headers("soon", signature), secret],
  ["another body", body + " ", sent, secret],
  ["another secret", body, sent, "whsec_b3RoZXI="],
  ["another signature", body, headers(timestamp, other), secret],
  ["another version", body, headers(timestamp, "v2" + signature.slice(2)), secret],
  ["half a signature", body, headers(timestamp, signature.slice(0, 20)), secret],
  ["no id", body, { ...sent, "webhook-id": undefined }, secret],
  ["no timestamp", body, { ...sent, "webhook-timestamp": undefined }, secret],
  ["no signature", body, { ...sent, "webhook-signature": undefined }, secret],
] as const) {
  test(`refuses: ${what}`, () => assert.rejects(verify(given, fields, key), NotVerifiedError));
}

test("a secret that was forgotten lets nobody in", () => assert.rejects(verify(body, headers(timestamp, sign("", timestamp)), ""), /no secret/));

test("verifies an event of an extension", async () => {
  const paid = '{"id":"evt_1","type":"order.paid","data":{"total":5}}';
  const signed = "v1," + createHmac("sha256", "horse").update(`${id}.${timestamp}.${paid}`).digest("base64");
  assert.deepEqual(await verify(paid, headers(timestamp, signed), "horse"), JSON.parse(paid));
});

/** Handles each kind: without one of them it would not compile. */
function about(event: Event): string {
  switch (event.type) {
    case "contact.created":
    case "contact.deleted":
      return event.data.id;
    case "contact.updated":
      return event.data.id + Object.keys(event.previous).join();
    case "webhook.ping":
      // @ts-expect-error: a ping has no previous values
      return String(event.previous);
    case "webhook.failing":
    case "webhook.recovered":
    case "webhook.disabled":
      return event.data.webhook.id;
    case "key.expiring":
      return event.data.key.id;
  }
}

test("kinds of events are told apart", async () => assert.equal(about(await verify(body, sent, secret)), "0mm8yqpxck3w9xa"));
