import assert from "node:assert/strict";
import { test } from "node:test";

import { client, refusal, reply } from "./network.js";

const link = { id: "0mm8yqpxck3w9xb", url: "https://crm.example.com/portal/#token=x.y", token: "x.y", expires: "2026-03-04T17:20:11.087Z" };

test("a portal link is created for a tenant", async () => {
  const { client: c, sent } = client({}, reply(200, { data: link }));
  assert.deepEqual(await c.portalLinks.create("t 1", { role: "admin", name: "Ada", expiresIn: 300 }, { requestId: "r7" }), link);
  await c.portalLinks.create("t1");
  assert.equal(sent[0]!.method + " " + sent[0]!.url, "POST https://crm.example.com/api/integrations/tenants/t%201/portal-link");
  assert.deepEqual(JSON.parse(sent[0]!.body), { role: "admin", name: "Ada", expiresIn: 300 });
  assert.equal(sent[0]!.headers.get("X-Request-Id"), "r7");
  assert.deepEqual(JSON.parse(sent[1]!.body), { role: "viewer", expiresIn: 3600 });
  await assert.rejects(client({}, refusal(403, "insufficient_permission")).client.portalLinks.create("t1"), { code: "insufficient_permission" });
});
