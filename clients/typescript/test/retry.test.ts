import assert from "node:assert/strict";
import { test } from "node:test";

import { retrying } from "../src/retry.js";
import { ada, broken, client, failure, network, refusal, reply, type Reply } from "./network.js";

const done = reply(201, { data: ada });
const reset = failure("ECONNRESET");

/** Creates a contact. Returns what was sent, how long the pauses were, and the status or the error that it came to. */
async function tries(replies: Reply[], init: RequestInit = {}) {
  const { sent, fetch } = network(...replies);
  const pauses: number[] = [];
  const send = retrying({ fetch, maxRetries: 8, timeout: 60_000, pause: async (milliseconds) => void pauses.push(milliseconds) });
  const outcome = await send(new Request("https://crm.example.com/", { method: "POST", body: "{}", ...init })).then(
    (response) => response.status,
    (error: Error) => error.message,
  );
  return { sent, pauses, outcome };
}

const mayBeStored = "The change may be stored, so read the contact again.";
const condition = { headers: { "If-Match": '"v1"' } };

for (const [what, replies, init, count, outcome] of [
  ["at once", [done], {}, 1, 201],
  ["too many requests", [refusal(429, "rate_limited"), done], {}, 2, 201],
  ["unavailable", [refusal(503, "unavailable"), done], {}, 2, 201],
  ["a proxy without upstream", [reply(502, ""), reply(504, ""), done], {}, 3, 201],
  ["reset", [reset, reset, reset, done], {}, 4, 201],
  ["half an answer", [broken, done], {}, 2, 201],
  ["the first try still runs", [reset, refusal(409, "idempotency_key_in_use"), done], {}, 3, 201],
  ["another conflict", [refusal(409, "in_use"), done], {}, 1, 409],
  ["invalid", [refusal(400, "validation_failed"), done], {}, 1, 400],
  ["an error of the installation", [refusal(500, "internal_error"), done], {}, 1, 500],
  ["a wrong certificate", [failure("CERT_HAS_EXPIRED"), done], {}, 1, "fetch failed"],
  ["never connected", [reset], {}, 9, "fetch failed"],
  ["never available", [refusal(503, "unavailable")], {}, 9, 503],
  ["unreplicated", [refusal(503, "unreplicated"), done], {}, 2, 201],
  ["a condition, unreplicated", [refusal(503, "unreplicated"), done], condition, 1, 503],
  ["a condition, unavailable", [refusal(503, "unavailable"), done], condition, 2, 201],
  ["a condition, not connected", [failure("ECONNREFUSED"), done], condition, 2, 201],
  ["a condition, reset", [reset, done], condition, 1, mayBeStored],
  ["a condition, a wrong certificate", [failure("CERT_HAS_EXPIRED"), done], condition, 1, "fetch failed"],
  ["a condition, behind a proxy", [reply(502, ""), done], condition, 1, 502],
  ["a condition, half an answer", [broken, done], condition, 1, mayBeStored],
] as [string, Reply[], RequestInit, number, unknown][]) {
  test(`retries: ${what}`, async () => {
    const got = await tries(replies, init);
    assert.equal(got.sent.length, count);
    assert.equal(got.outcome, outcome);
    const key = got.sent[0]!.headers.get("Idempotency-Key");
    assert(key && key.length > 20);
    for (const again of got.sent) assert.deepEqual([again.headers.get("Idempotency-Key"), again.body], [key, "{}"]);
  });
}

test("two calls are two contacts, unless the caller says that they are the same", async () => {
  const { client: c, sent } = client({}, done);
  await c.contacts.create({});
  await c.contacts.create({});
  await c.contacts.create({}, { idempotencyKey: "order-1" });
  const [first, second, third] = sent.map(({ headers }) => headers.get("Idempotency-Key"));
  assert(first && second && first !== second);
  assert.equal(third, "order-1");
});

test("pauses grow up to a bound, and no two clients have the same", async () => {
  const [first, second] = [await tries([reset]), await tries([reset])];
  let most = 250;
  for (const pause of first.pauses) {
    assert(pause >= most / 2 && pause <= most, `${pause} is not between ${most / 2} and ${most}`);
    most = Math.min(2 * most, 8000);
  }
  assert.equal(first.pauses.length, 8);
  assert.notDeepEqual(first.pauses, second.pauses);
});

test("Retry-After is honoured", async () => {
  for (const after of ["30", new Date(Date.now() + 30_900).toUTCString()]) {
    const { pauses } = await tries([refusal(429, "rate_limited", { "Retry-After": after }), done]);
    assert(pauses[0]! > 20_000 && pauses[0]! < 32_000, `after ${after}: ${pauses[0]}`);
  }
});

test("who would have to wait for long is told so at once", async () => {
  const { client: c, sent } = client({ maxRetries: 8 }, refusal(429, "rate_limited", { "Retry-After": "3600" }));
  await assert.rejects(c.contacts.get("x1"), { code: "rate_limited", retryAfter: 3600 });
  assert.equal(sent.length, 1);
});

test("a signal ends the pause", { timeout: 20_000 }, async () => {
  const { client: c } = client({ maxRetries: 8 }, refusal(429, "rate_limited", { "Retry-After": "30" }));
  const controller = new AbortController();
  const call = c.contacts.get("x1", { signal: controller.signal });
  setImmediate(() => controller.abort(new Error("enough")));
  await assert.rejects(call, /enough/);
});

test("a signal ends a try, and there is no other", async () => {
  const controller = new AbortController();
  let count = 0;
  const never: typeof fetch = (_, init) =>
    new Promise((_, reject) => {
      count++;
      init!.signal!.addEventListener("abort", () => reject(init!.signal!.reason));
      controller.abort(new Error("enough"));
    });
  await assert.rejects(client({ maxRetries: 8, fetch: never }, done).client.contacts.get("x1", { signal: controller.signal }), /enough/);
  assert.equal(count, 1);
});

test("a try that takes too long is followed by another", async () => {
  let count = 0;
  const { fetch } = network(done);
  const hangs: typeof fetch = (input, init) =>
    ++count > 1
      ? fetch(input, init)
      : new Promise((_, reject) => {
          const alive = setInterval(() => {}, 1000); // as the connection would be
          init!.signal!.addEventListener("abort", () => (clearInterval(alive), reject(init!.signal!.reason)));
        });
  assert.equal((await client({ maxRetries: 1, timeout: 50, fetch: hangs }, done).client.contacts.create({})).id, ada.id);
});
