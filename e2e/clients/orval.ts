import { createContact, getContact, listContacts, updateContact } from "./generated/orval/client";
import type { ErrorResponse, WebhookEvent } from "./generated/orval/model";
import { BASE, KEY, run } from "./job";

// The generated functions call fetch with the path alone: where an installation is belongs to whoever calls it.
const plainFetch = globalThis.fetch;
globalThis.fetch = (path, options) => plainFetch(`${BASE}${String(path)}`, options);
const key = { headers: { Authorization: `Bearer ${KEY}` } };

/** Returns what was answered, or throws the error. */
function must<T>({ data }: { data: { data: T } | ErrorResponse }): T {
  if ("error" in data) throw new Error(data.error.message);
  return data.data;
}

void run("orval", {
  create: async (contact) => must(await createContact(contact, key)),
  get: async (id) => {
    const answer = await getContact(id, key);
    if (answer.status === 304) throw new Error("nothing was asked for that may be unchanged");
    return must(answer);
  },
  update: async (id, change) => must(await updateContact(id, change, key)),
  find: async (q) => must(await listContacts({ q, sort: "-updatedAt" }, key)),
  refuse: async (contact) => {
    const { status, data, headers } = await createContact(contact, key);
    if (status === 201) throw new Error("it was accepted");
    // @ts-expect-error: there is no such code
    if (data.error.code === "no_such_code") throw new Error("unknown");
    return { fault: data.error, requestId: headers.get("X-Request-Id") };
  },
});

const ping: WebhookEvent = { id: "evt_1", type: "webhook.ping", timestamp: "2026-03-02T09:15:04.520Z", data: {} };
if (ping.type !== "webhook.ping") throw new Error("the types of events are not told apart");
