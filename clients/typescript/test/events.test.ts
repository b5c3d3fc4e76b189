import assert from "node:assert/strict";
import { test } from "node:test";

import type { FeedEvent } from "../src/index.js";
import { client, refusal, reply, type Reply, type Sent } from "./network.js";

function page(cursor: string, hasMore: boolean, ...contacts: string[]): Reply {
  const data = contacts.map((id) => ({ id: "evt_1", type: "contact.deleted", timestamp: "2026-03-04T16:20:11.087Z", data: { id }, erased: true }));
  return reply(200, { data, hasMore, cursor });
}

/** Returns the contact that an event is about; notices are about none. */
const contactOf = (event: FeedEvent): string => ("id" in event.data ? event.data.id : "");

/** Returns the contacts that the events are about. */
async function collect(events: AsyncIterable<FeedEvent>): Promise<string[]> {
  const contacts: string[] = [];
  for await (const event of events) contacts.push(contactOf(event));
  return contacts;
}

const queries = (sent: Sent[]) => sent.map(({ url }) => url.replace("https://crm.example.com/api/ext/v1/events", ""));

test("now is a place", async () => {
  const { client: c, sent } = client({}, page("evt_9", false));
  assert.equal(await c.events.now(), "evt_9");
  assert.deepEqual(queries(sent), [""]);
});

test("a page of events", async () => {
  const { client: c, sent } = client({}, page("evt_9", true, "x1"));
  const got = await c.events.list("evt_1", { types: ["contact.created", "contact.deleted"], contact: "x1", limit: 2, wait: 5 });
  assert.deepEqual([got.data.length, got.hasMore, got.cursor], [1, true, "evt_9"]);
  assert.deepEqual(queries(sent), ["?after=evt_1&contact=x1&limit=2&wait=5&types=contact.created%2Ccontact.deleted"]);
});

test("events of extensions are as they were sent", async () => {
  const paid = { id: "evt_1", type: "order.paid", timestamp: "2026-03-04T16:20:11.087Z", data: { lines: [] }, source: { type: "extension" } };
  const { client: c, sent } = client({}, reply(200, { data: [paid], hasMore: false, cursor: "evt_1" }));
  const got: unknown[] = [];
  for await (const event of c.events.after("", { types: ["order.paid", "contact.created"] })) got.push(event);
  assert.deepEqual(got, [paid]);
  assert.deepEqual(queries(sent), ["?after=&limit=1000&types=order.paid%2Ccontact.created"]);
});

test("after ends with the last event", async () => {
  const { client: c, sent } = client({}, page("evt_2", true, "x1", "x2"), page("evt_3", true), page("evt_4", false, "x4"));
  assert.deepEqual(await collect(c.events.after("")), ["x1", "x2", "x4"]);
  assert.deepEqual(queries(sent), ["?after=&limit=1000", "?after=evt_2&limit=1000", "?after=evt_3&limit=1000"]);
});

test("follow goes on where there is nothing, until its signal ends", async () => {
  const controller = new AbortController();
  const { client: c, sent } = client({ maxRetries: 8 }, page("evt_2", false, "x1"), page("evt_3", false), page("evt_4", false, "x4"), () => {
    controller.abort(new Error("enough"));
    throw controller.signal.reason;
  });
  const seen: string[] = [];
  await assert.rejects(async () => {
    for await (const event of c.events.follow("evt_1", {}, { signal: controller.signal })) seen.push(contactOf(event));
  }, /enough/);
  assert.deepEqual(seen, ["x1", "x4"]);
  assert.deepEqual(queries(sent), [1, 2, 3, 4].map((place) => `?after=evt_${place}&limit=1000&wait=20`));
});

test("a place that expired is an error", async () => {
  const { client: c } = client({}, refusal(410, "cursor_expired"));
  await assert.rejects(collect(c.events.after("evt_1")), { status: 410, code: "cursor_expired" });
});

/** Events of contacts that are erased have no more than the id: without asking it would not compile. */
export function nameOf(event: FeedEvent): string | null {
  if (!("id" in event.data)) {
    return null; // a notice
  }
  // @ts-expect-error: the contact may be erased
  event.data.name satisfies string | null;
  return "erased" in event ? null : event.data.name;
}
