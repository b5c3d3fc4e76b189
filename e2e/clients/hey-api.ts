import { client } from "./generated/hey-api/client.gen";
import { createContact, getContact, listContacts, updateContact } from "./generated/hey-api/sdk.gen";
import type { ErrorResponse, WebhookEvent } from "./generated/hey-api/types.gen";
import { BASE, KEY, run } from "./job";

client.setConfig({ baseUrl: BASE, auth: () => KEY });
client.interceptors.request.use((request) => {
  if (request.headers.has("X-API-Key")) throw new Error("the key is sent twice");
  return request;
});

/** Returns what was answered, or throws the error. */
function must<T>({ data, error }: { data: { data: T } | undefined; error: ErrorResponse | undefined }): T {
  if (!data) throw new Error(error?.error.message);
  return data.data;
}

void run("hey-api", {
  create: async (body) => must(await createContact({ body })),
  get: async (id) => must(await getContact({ path: { id } })),
  update: async (id, body) => must(await updateContact({ path: { id }, body })),
  find: async (q) => must(await listContacts({ query: { q, sort: "-updatedAt" } })),
  refuse: async (body) => {
    const { error, response } = await createContact({ body });
    if (!error) throw new Error("it was accepted");
    // @ts-expect-error: there is no such code
    if (error.error.code === "no_such_code") throw new Error("unknown");
    return { fault: error.error, requestId: response.headers.get("X-Request-Id") };
  },
});

const ping: WebhookEvent = { id: "evt_1", type: "webhook.ping", timestamp: "2026-03-02T09:15:04.520Z", data: {} };
if (ping.type !== "webhook.ping") throw new Error("the types of events are not told apart");
