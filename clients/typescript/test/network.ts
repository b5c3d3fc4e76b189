import { Contactbase, type Options } from "../src/index.js";

export const ada = {
  id: "0mm8yqpxck3w9xa", name: "Ada Lovelace", email: null, phone: null, company: null, externalId: "crm-1815",
  createdAt: "2026-03-02T09:15:04.512Z", updatedAt: "2026-03-04T16:20:11.087Z", newsletter: true,
};

/** What arrived. */
export interface Sent {
  method: string;
  url: string;
  headers: Headers;
  body: string;
}

/** Answers a request, or throws. */
export type Reply = () => Response;

export function reply(status: number, body: unknown, headers: Record<string, string> = {}): Reply {
  return () => new Response(typeof body === "string" ? body : JSON.stringify(body), { status, headers });
}

export function refusal(status: number, code: string, headers: Record<string, string> = {}): Reply {
  return reply(status, { error: { code, message: "No.", requestId: "r1" } }, headers);
}

/** No answer at all. */
export function failure(code: string): Reply {
  return () => {
    throw new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });
  };
}

/** An answer whose connection ends within the body. */
export function broken(): Response {
  let begun = false;
  return new Response(
    new ReadableStream({
      pull(stream) {
        if (begun) return stream.error(new TypeError("terminated"));
        begun = true;
        stream.enqueue(new TextEncoder().encode('{"data":'));
      },
    }),
    { status: 201 },
  );
}

/** Answers requests with the replies, one after the other, and with the last of them for ever. */
export function network(...replies: Reply[]): { sent: Sent[]; fetch: typeof fetch } {
  const sent: Sent[] = [];
  return {
    sent,
    fetch: async (input, init) => {
      const request = new Request(input, init);
      const { method, url, headers } = request;
      sent.push({ method, url, headers, body: await request.text() });
      return replies[Math.min(sent.length, replies.length) - 1]!();
    },
  };
}

/** A client that is answered with the replies, without retries. */
export function client(options: Partial<Options>, ...replies: Reply[]): { client: Contactbase; sent: Sent[] } {
  const { sent, fetch } = network(...replies);
  return { client: new Contactbase({ url: "https://crm.example.com", key: "cmk_1", maxRetries: 0, fetch, ...options }), sent };
}
