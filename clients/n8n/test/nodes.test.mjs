import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { test } from "node:test";

import node from "../dist/nodes/Contactbase/Contactbase.node.js";
import feed from "../dist/nodes/ContactbaseFeedTrigger/ContactbaseFeedTrigger.node.js";
import trigger from "../dist/nodes/ContactbaseTrigger/ContactbaseTrigger.node.js";
import { context, demo } from "./contactbase.mjs";

const execute = async (options) => {
  const self = context(options);
  const [output] = await new node.Contactbase().execute.call(self);
  return { ...self, output };
};

test("contacts", async (t) => {
  const credentials = await demo(t);
  credentials.baseUrl += "/"; // as people paste it
  const run = (operation, ...items) => execute({ credentials, items: items.map((item) => ({ operation, ...item })) });

  const { output: [created] } = await run("create", { fields: { name: "Grace Hopper", email: "grace@example.com" } });
  assert.equal(created.json.name, "Grace Hopper");
  assert.deepEqual(created.pairedItem, { item: 0 });
  const contactId = created.json.id;

  const { output: [again] } = await run("create", { fields: { name: "Grace Hopper", email: "grace@example.com" } });
  assert.equal(again.json.id, contactId, "a retry in the same execution creates nothing");

  await run("update", { contactId, fields: { company: "Navy", customFields: '{"email": null}' } });
  const { output: [{ json: read }] } = await run("get", { contactId });
  assert.deepEqual([read.company, read.email], ["Navy", null]);

  for (const name of ["Katherine", "Katherine Johnson"]) await run("upsert", { externalId: "nasa 1/2", fields: { name } });
  const { output: found } = await run("getAll", { returnAll: false, limit: 5, filters: { externalId: "nasa 1/2", other: { q: "johnson" } } });
  assert.deepEqual(found.map(({ json }) => json.name), ["Katherine Johnson"]);

  const { sent: [{ qs }] } = await run("getAll", { returnAll: true, filters: { updatedSince: "2026-01-31T12:00:00" } });
  assert.equal(qs.updatedSince, "2026-01-31T11:00:00.000Z", "in the timezone of the workflow");

  const many = Array.from({ length: 450 }, (_, n) => ({ batchSize: 250, action: "upsert", match: "externalId", fields: { name: "Many", externalId: `m${n}` } }));
  many[3] = { ...many[3], fields: { name: "Many", email: "none" } };
  const { output: results, sent } = await run("batch", ...many);
  assert.equal(sent.length, 2);
  assert.deepEqual(results.map(({ pairedItem }) => pairedItem.item), many.map((_, n) => n));
  assert.equal(results.filter(({ json }) => json.status === "created").length, 449);
  assert.equal(results[3].json.error.fields.email.code, "invalid_email");

  for (const [parameters, count] of [[{ returnAll: true }, 449], [{ returnAll: false, limit: 201 }, 201]]) {
    const { output } = await run("getAll", { ...parameters, filters: { q: "many" } });
    assert.equal(new Set(output.map(({ json }) => json.id)).size, count);
  }

  await assert.rejects(run("create", { fields: { email: "none" } }), ({ message, httpCode, description }) =>
    message.includes("email: is not a valid email address") && httpCode === "400" && /^validation_failed, request ID \w+$/.test(description));
  const { output } = await execute({ credentials, continueOnFail: true, items: [{ operation: "get", contactId: "x" }, { operation: "get", contactId }] });
  assert.deepEqual([typeof output[0].json.error, output[1].json.id, output[1].pairedItem], ["string", contactId, { item: 1 }]);
  await assert.rejects(execute({ credentials: { ...credentials, apiKey: "cmk_wrong" }, items: [{ operation: "get", contactId }] }), /API key/);
});

test("a contact is deleted only with the permission", async (t) => {
  const deleted = { credentials: { baseUrl: "http://127.0.0.1:1" }, answer: () => new Response(null, { status: 204 }) };
  const { sent, output } = await execute({ ...deleted, items: [{ operation: "delete", contactId: "a/b" }] });
  assert.deepEqual([sent[0].method, sent[0].url, output[0].json], ["DELETE", "/contacts/a%2Fb", { deleted: true }]);
  const credentials = await demo(t);
  await assert.rejects(execute({ credentials, items: [{ operation: "delete", contactId: "x" }] }), /contacts:delete/);
  const { output: [{ json }] } = await execute({ credentials, items: [{ operation: "batch", batchSize: 9, action: "delete", contactId: "x", fields: { name: "A" } }] });
  assert.equal(json.error.code, "insufficient_permission");
});

test("calls wait for Retry-After, and send the same key again", async () => {
  const limited = (after) => new Response('{"error":{"code":"rate_limited","message":"Too many.","requestId":"r"}}', { status: 429, headers: { "Retry-After": after } });
  const items = [{ operation: "create", fields: { name: "Ada" } }];
  const credentials = { baseUrl: "http://127.0.0.1:1" };
  const { sent, output } = await execute({ credentials, items, answer: (call) => (call < 3 ? limited("0") : Response.json({ data: { id: "x" } })) });
  assert.equal(output[0].json.id, "x");
  assert.equal(new Set(sent.map(({ headers }) => headers["Idempotency-Key"])).size, 1);
  for (const [after, calls] of [["0", 4], ["61", 1]]) {
    let last = 0;
    await assert.rejects(execute({ credentials, items, answer: (call) => ((last = call), limited(after)) }), /Too many/);
    assert.equal(last, calls);
  }
  await assert.rejects(execute({ credentials, items, answer: () => Response.json("a proxy", { status: 502 }) }), /Check the base URL/);
});

test("the feed starts with the present, goes on where it was, and tells of what it has missed", async (t) => {
  const credentials = await demo(t);
  const state = {};
  const poll = async (options = {}) => {
    const output = await new feed.ContactbaseFeedTrigger().poll.call(context({ credentials, state, items: [{ types: [] }], ...options }));
    return output?.[0].map(({ json }) => json.data?.name ?? json.type) ?? null;
  };
  const create = (name) => execute({ credentials, items: [{ operation: "create", fields: { name } }] });

  assert.deepEqual(await poll({ mode: "manual" }), ["Ada Lovelace"]);
  assert.deepEqual(state, {});
  assert.equal(await poll(), null);
  await create("Grace");
  await create("Katherine");
  assert.equal(await poll({ items: [{ types: ["contact.deleted"] }], state: { ...state } }), null);
  assert.deepEqual(await poll(), ["Grace", "Katherine"]);
  assert.equal(await poll(), null);

  state.cursor = "evt_000000000000001";
  const before = { ...state };
  await assert.rejects(poll({ answer: (call) => (call === 2 ? Response.json({}, { status: 500 }) : undefined) }));
  assert.deepEqual(state, before, "a poll that fails changes nothing");
  const missed = await poll();
  assert.deepEqual([missed[0], missed[1], missed.length], ["cursor_expired", "Ada Lovelace", 8]);
  assert.equal(await poll(), null);
});

test("a webhook starts the workflow only with a valid signature", async () => {
  const secret = "whsec_c2VjcmV0";
  const event = { id: "evt_1", type: "contact.created", data: { name: "Zoë" } };
  const body = Buffer.from(JSON.stringify(event));
  const sign = (content, key = secret) => createHmac("sha256", key).update(content).digest("hex");
  const receive = async (options, items = [{}]) => {
    const self = context({ credentials: { secret }, items, webhook: { body, headers: { "x-signature": sign(body) }, ...options } });
    return { ...self, ...await new trigger.ContactbaseTrigger().webhook.call(self) };
  };
  assert.deepEqual((await receive({})).workflowData, [[{ json: event }]]);
  for (const headers of [{}, { "x-signature": "" }, { "x-signature": sign(body, "other") }, { "x-signature": sign(body).toUpperCase() }, { "x-signature": [sign(body)] }]) {
    const { workflowData, responses } = await receive({ headers });
    assert.deepEqual([workflowData, responses[0].status], [undefined, 401]);
  }
  assert.equal((await receive({ body: Buffer.concat([body, Buffer.from(" ")]) })).responses[0].status, 401);
  const ping = Buffer.from('{"type":"webhook.ping"}');
  for (const [ignorePings, starts] of [[true, false], [false, true]]) {
    const { workflowData, responses } = await receive({ body: ping, headers: { "x-signature": sign(ping) } }, [{ ignorePings }]);
    assert.deepEqual([workflowData !== undefined, responses.length], [starts, 0]);
  }
  const unset = context({ credentials: { secret: "" }, webhook: { body, headers: { "x-signature": sign(body, "") } } });
  await new trigger.ContactbaseTrigger().webhook.call(unset);
  assert.equal(unset.responses[0].status, 401);
});
