import createClient from "openapi-fetch";

import type { components, paths } from "./generated/openapi-typescript/schema";
import { BASE, KEY, run } from "./job";

const client = createClient<paths>({ baseUrl: BASE, headers: { Authorization: `Bearer ${KEY}` } });

/** Returns what was answered, or throws the error. */
function must<T>({ data, error }: { data?: { data: T }; error?: components["schemas"]["ErrorResponse"] }): T {
  if (!data) throw new Error(error?.error.message);
  return data.data;
}

void run("openapi-typescript", {
  create: async (body) => must(await client.POST("/api/ext/v1/contacts", { body })),
  get: async (id) => must(await client.GET("/api/ext/v1/contacts/{id}", { params: { path: { id } } })),
  update: async (id, body) => must(await client.PATCH("/api/ext/v1/contacts/{id}", { params: { path: { id } }, body })),
  find: async (q) => must(await client.GET("/api/ext/v1/contacts", { params: { query: { q, sort: "-updatedAt" } } })),
  refuse: async (body) => {
    const { error, response } = await client.POST("/api/ext/v1/contacts", { body });
    if (!error) throw new Error("it was accepted");
    // @ts-expect-error: there is no such code
    if (error.error.code === "no_such_code") throw new Error("unknown");
    return { fault: error.error, requestId: response.headers.get("X-Request-Id") };
  },
});

type Schemas = components["schemas"];

const contact: Schemas["Contact"] = {
  id: "0mm8yqpxck3w9xa", name: null, email: "ada@example.com", phone: null, company: null, externalId: null,
  createdAt: "2026-03-02T09:15:04.512Z", updatedAt: "2026-03-02T09:15:04.512Z",
};
const head = { id: "evt_1", timestamp: "2026-03-02T09:15:04.520Z" };
const events: Schemas["WebhookEvent"][] = [
  { ...head, type: "contact.created", data: contact },
  { ...head, type: "contact.updated", data: contact, previous: { company: "Engines" } },
  { ...head, type: "contact.deleted", data: contact },
  { ...head, type: "webhook.ping", data: {} },
];

// @ts-expect-error: an update has the previous values
export const incomplete: Schemas["WebhookEvent"] = { ...head, type: "contact.updated", data: contact };

/** Handles each kind: without one of them it would not compile. */
function about(event: Schemas["WebhookEvent"]): string {
  switch (event.type) {
    case "contact.created":
    case "contact.deleted":
      return event.data.id;
    case "contact.updated":
      return event.data.id + Object.keys(event.previous).join();
    case "webhook.ping":
      return "";
    case "webhook.failing":
    case "webhook.recovered":
    case "webhook.disabled":
      return event.data.webhook.id;
    case "key.expiring":
      return event.data.key.id;
  }
}

events.forEach(about);
