// A receiver of webhooks as integrators write it, with the official library and nothing of the sender's code.
//
// It prints one JSON object a line: first {"port"} where it listens, then one for each delivery. The secret comes as
// the first line of the standard input, because it is known only after the webhook was created for this port. It ends
// with its standard input.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import { Webhook } from "standardwebhooks";

let webhook; // once the secret is known

function print(object) {
  process.stdout.write(JSON.stringify(object) + "\n");
}

const server = createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const body = Buffer.concat(chunks);
    const seen = {
      id: request.headers["webhook-id"] ?? "",
      attempt: request.headers["x-attempt"] ?? "",
      delivery: request.headers["x-delivery"] ?? "",
      digest: createHash("sha256").update(body).digest("hex"),
    };
    try {
      if (request.method !== "POST") throw new Error(`the method is ${request.method}`);
      const event = webhook.verify(body, request.headers);
      response.writeHead(204).end();
      print({ ...seen, bodyId: event.id, type: event.type, contact: event.data.id, name: event.data.name ?? "" });
    } catch (error) {
      response.writeHead(401).end();
      print({ ...seen, error: String(error) });
    }
  });
});

server.listen(0, "127.0.0.1", () => print({ port: server.address().port }));

const lines = createInterface({ input: process.stdin });
lines.once("line", (secret) => {
  webhook = new Webhook(secret);
  print({ ready: true });
});
lines.on("close", () => process.exit(0));
