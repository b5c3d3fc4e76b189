// A running demo of Contactbase, and as much of n8n as the nodes use.

import { spawn } from "node:child_process";

/**
 * Starts the demo of the program that CONTACTBASE names, and returns its address, API key and password when it has created its contacts.
 *
 * @param {import("node:test").TestContext} t
 */
export async function demo(t) {
  const { CONTACTBASE } = process.env;
  if (!CONTACTBASE) throw new Error("set CONTACTBASE to the path of the executable");
  const server = spawn(CONTACTBASE, ["demo", "--http", "127.0.0.1:0"], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = new Promise((resolve) => server.once("exit", resolve));
  t.after(async () => {
    server.kill("SIGTERM");
    await ended;
  });
  let printed = "";
  await new Promise((resolve, reject) => {
    ended.then(() => reject(new Error("the demo ended: " + printed)));
    server.stdout.setEncoding("utf8").on("data", (part) => {
      printed += part;
      if (printed.includes("contact.created 山田")) resolve();
    });
  });
  return { password: /password (\S+)\)/.exec(printed)[1], baseUrl: /running at (\S+),/.exec(printed)[1], apiKey: /API key +(\S+)/.exec(printed)[1] };
}

/**
 * Returns what n8n gives a node as `this`. The requests go out, except those that answer replaces.
 *
 * @param {{ credentials: object, items?: object[], mode?: string, state?: object, continueOnFail?: boolean, webhook?: object, answer?: Function }} options
 */
export function context({ credentials, items = [{}], mode = "trigger", state = {}, continueOnFail = false, webhook, answer }) {
  const sent = [];
  const responses = [];
  return {
    sent,
    responses,
    getCredentials: async () => credentials,
    getExecutionId: () => "1",
    getNode: () => ({ id: "n1", name: "Contactbase", type: "contactbase", typeVersion: 1, position: [0, 0], parameters: {} }),
    getInputData: () => items.map((json) => ({ json })),
    getNodeParameter(name, second, third) {
      const isItem = typeof second === "number";
      return items[isItem ? second : 0][name] ?? (isItem ? third : second);
    },
    getMode: () => mode,
    getTimezone: () => "Europe/Berlin",
    getWorkflowStaticData: () => state,
    continueOnFail: () => continueOnFail,
    getRequestObject: () => ({ rawBody: webhook?.body }),
    getHeaderData: () => webhook?.headers ?? {},
    getBodyData: () => JSON.parse(webhook.body),
    getResponseObject: () => ({ status: (status) => ({ json: (body) => responses.push({ status, body }) }) }),
    helpers: {
      returnJsonArray: (data) => [data].flat().map((json) => ({ json })),
      constructExecutionMetaData: (data, { itemData }) => data.map((item) => ({ ...item, pairedItem: itemData })),
      async httpRequestWithAuthentication(_, options) {
        sent.push(options);
        const url = new URL(options.baseURL + options.url);
        for (const [name, value] of Object.entries(options.qs ?? {})) url.searchParams.set(name, value);
        const response = answer?.(sent.length) ?? await fetch(url, {
          method: options.method,
          headers: { ...options.headers, "Content-Type": "application/json", Authorization: `Bearer ${credentials.apiKey}` },
          body: options.body && JSON.stringify(options.body),
        });
        return { statusCode: response.status, headers: Object.fromEntries(response.headers), body: JSON.parse(await response.text()) };
      },
    },
  };
}
