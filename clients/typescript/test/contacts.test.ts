import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";

import { type Contact, Contactbase, ContactbaseError, etag, type Fields } from "../src/index.js";
import { ada, client, failure, refusal, reply, type Sent } from "./network.js";

const fields: Fields = { name: "Ada", phone: null, vip: true };

test("a client needs an address and a key", () => {
  for (const [url, key] of [["", "cmk_1"], ["crm.example.com", "cmk_1"], ["https://", "cmk_1"], ["https://crm.example.com", " \n"]] as const) {
    assert.throws(() => new Contactbase({ url, key }), TypeError);
  }
});

test("the address may have a path, and the key a line break behind it", async () => {
  const { client: c, sent } = client({ url: "http://127.0.0.1:8090/crm/", key: "cmk_1\n" }, reply(200, { data: ada }));
  await c.contacts.get("a/b");
  assert.equal(sent[0]!.url, "http://127.0.0.1:8090/crm/api/ext/v1/contacts/a%2Fb");
  assert.equal(sent[0]!.headers.get("Authorization"), "Bearer cmk_1");
});

test("calls send what they are told, and nothing else", async () => {
  const { client: c, sent } = client({}, reply(200, { data: ada }));
  await c.contacts.delete("a/b", { ifMatch: '"v1"' });
  assert.equal(sent[0]!.method + " " + sent[0]!.url, "DELETE https://crm.example.com/api/ext/v1/contacts/a%2Fb");
  assert.equal(sent.pop()!.headers.get("If-Match"), '"v1"');
  const check = (method: string, path: string, body: unknown, headers: Record<string, string | null>) => {
    const request = sent.pop() as Sent;
    assert.equal(request.method + " " + new URL(request.url).pathname, method + " /api/ext/v1/contacts" + path);
    assert.deepEqual(JSON.parse(request.body), body);
    for (const [name, value] of Object.entries(headers)) assert.equal(request.headers.get(name), value, name);
  };
  await c.contacts.create(fields, { idempotencyKey: "order-1", requestId: "r7" });
  check("POST", "", fields, { "Idempotency-Key": "order-1", "X-Request-Id": "r7" });
  await c.contacts.update("x1", fields, { ifMatch: '"v1"' });
  check("PATCH", "/x1", fields, { "If-Match": '"v1"', "Idempotency-Key": null });
  await c.contacts.upsert("crm/18 15", fields, { onlyCreate: true });
  check("PUT", "/by-external-id/crm%2F18%2015", fields, { "If-None-Match": "*", "Idempotency-Key": null });
  await c.contacts.merge("x1", { from: ["x2"], fields: { email: "x2" } });
  check("POST", "/x1/merge", { dryRun: false, from: ["x2"], fields: { email: "x2" } }, {});
  await c.contacts.batch({ items: [{ action: "update", id: "x1", contact: fields }] });
  check("POST", "/batch", { atomic: false, items: [{ action: "update", id: "x1", contact: fields }] }, {});
});

test("a deletion that may have been applied has succeeded if a retry does not find the contact", async () => {
  const gone = refusal(404, "not_found");
  await client({}, () => new Response(null, { status: 204 })).client.contacts.delete("x1");
  for (const first of [failure("ECONNRESET"), refusal(503, "unreplicated")]) await client({ maxRetries: 1 }, first, gone).client.contacts.delete("x1");
  for (const [replies, code] of [[[gone], "not_found"], [[refusal(429, "rate_limited"), gone], "not_found"], [[failure("ECONNRESET"), refusal(409, "merged_contact")], "merged_contact"]] as const) {
    await assert.rejects(client({ maxRetries: 1 }, ...replies).client.contacts.delete("x1"), { code });
  }
});

test("a contact has its custom fields and its version", async () => {
  const { client: c } = client({}, reply(200, { data: ada }, { ETag: '"v1"' }));
  const got: Contact = await c.contacts.get(ada.id);
  assert.deepEqual(got, ada);
  assert.equal(got["newsletter"], true);
  assert.equal(etag(got), '"v1"');
  assert.throws(() => etag({ ...got }), TypeError);
});

test("a list has the cursor of its link", async () => {
  const link = { Link: '</api/ext/v1/contacts?cursor=a%2Bb&limit=2>; rel="next"' };
  const { client: c, sent } = client({}, reply(200, { data: [ada], hasMore: true }, link), reply(200, { data: [], hasMore: false }));
  assert.deepEqual(await c.contacts.list({ q: "ada & co", limit: 1, updatedSince: "2026-03-02T09:15:04Z" }), { data: [ada], hasMore: true, cursor: "a+b" });
  assert.deepEqual(Object.fromEntries(new URL(sent[0]!.url).searchParams), { q: "ada & co", limit: "1", updatedSince: "2026-03-02T09:15:04Z" });
  assert.deepEqual(await c.contacts.list(), { data: [], hasMore: false });
  assert.equal(new URL(sent[1]!.url).search, "");
  await c.contacts.list({ company: "Ada & Co", createdBefore: "2026-01-01T00:00:00Z", custom: { vip: true, score: 1.5, note: "a+b" } });
  assert.deepEqual(Object.fromEntries(new URL(sent[2]!.url).searchParams), { company: "Ada & Co", createdBefore: "2026-01-01T00:00:00Z", vip: "true", score: "1.5", note: "a+b" });
});

test("a count has the filters of a list", async () => {
  const { client: c, sent } = client({}, reply(200, { data: { count: 100000, more: true } }));
  assert.deepEqual(await c.contacts.count({ q: "ada", sort: "name", limit: 1, custom: { vip: true } }), { count: 100000, more: true });
  assert.deepEqual(Object.fromEntries(new URL(sent[0]!.url).searchParams), { q: "ada", vip: "true" });
  assert.equal(new URL(sent[0]!.url).pathname, "/api/ext/v1/contacts/count");
});

const page = (next: string | undefined, ...ids: string[]) =>
  reply(200, { data: ids.map((id) => ({ ...ada, id })), hasMore: next !== undefined }, next === undefined ? {} : { Link: `<https://elsewhere.example/api/ext/v1/contacts?cursor=${next}>; rel="next"` });

test("all goes through the pages", async () => {
  const { client: c, sent } = client({}, page("two", "x1", "x2"), page("three", "x3"), page(undefined));
  const ids: string[] = [];
  for await (const contact of c.contacts.all({ q: "ada", offset: 1 })) ids.push(contact.id);
  assert.deepEqual(ids, ["x1", "x2", "x3"]);
  for (const { url } of sent) assert.equal(new URL(url).origin, "https://crm.example.com");
  assert.deepEqual(sent.map(({ url }) => [...new URL(url).searchParams].sort().join(" ")), ["limit,200 offset,1 q,ada", "cursor,two limit,200 q,ada", "cursor,three limit,200 q,ada"]);
});

test("who has enough asks for no further page", async () => {
  const { client: c, sent } = client({}, page("two", "x1", "x2"));
  for await (const contact of c.contacts.all()) {
    assert.equal(contact.id, "x1");
    break;
  }
  assert.equal(sent.length, 1);
});

test("an error ends all", async () => {
  const { client: c } = client({}, page("two", "x1"), refusal(401, "invalid_api_key"));
  const ids: string[] = [];
  await assert.rejects(async () => {
    for await (const contact of c.contacts.all()) ids.push(contact.id);
  }, ContactbaseError);
  assert.deepEqual(ids, ["x1"]);
});

test("a refusal says everything", async () => {
  const results = [{ index: 0, status: "failed", error: { code: "not_found", message: "Nobody." } }];
  const invalid = { code: "invalid_phone", message: "is not a number" };
  const { client: c } = client({}, reply(400, { error: { code: "batch_failed", message: "One failed.", requestId: "r1", fields: { phone: invalid }, results } }, { "Retry-After": "7" }));
  await assert.rejects(c.contacts.batch({ items: [] }), (error) => {
    assert(error instanceof ContactbaseError);
    const { name, status, code, message, requestId, fields, retryAfter } = error;
    assert.deepEqual({ name, status, code, message, requestId, fields, retryAfter, results: error.results }, {
      name: "ContactbaseError", status: 400, code: "batch_failed", message: "One failed.", requestId: "r1", fields: { phone: invalid }, retryAfter: 7, results,
    });
    // @ts-expect-error: there is no such code
    return error.code !== "no_such_code";
  });
});

test("not everything that answers is an installation", async () => {
  const { client: c } = client({}, reply(403, "<h1>Blocked</h1>", { "X-Request-Id": "proxy-1" }), reply(200, "<h1>Welcome</h1>"), reply(200, ""));
  await assert.rejects(c.contacts.get("x1"), { name: "ContactbaseError", status: 403, message: "HTTP 403", code: undefined, requestId: "proxy-1" });
  await assert.rejects(c.contacts.get("x1"), SyntaxError);
  await assert.rejects(c.contacts.get("x1"), /response body is empty/);
});

test("the key stays with the origin of the address", async () => {
  const keys: (string | undefined)[] = [];
  const other = createServer((request, response) => {
    keys.push(request.headers.authorization);
    response.end(JSON.stringify({ data: ada }));
  });
  const listen = async (server: Server) => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const target = await listen(other);
  const first = createServer((_, response) => response.writeHead(307, { Location: target }).end());
  try {
    await new Contactbase({ url: await listen(first), key: "cmk_1", maxRetries: 0 }).contacts.get("x");
    assert.deepEqual(keys, [undefined]);
  } finally {
    for (const server of [first, other]) server.close().closeAllConnections();
  }
});
