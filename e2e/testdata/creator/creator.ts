// Creates contacts with the client, many at a time, and follows the feed of events up to the last of them. It says which contacts
// were created and which arrived.
import { Contactbase } from "contactbase";

const { BASE = "", KEY = "", COUNT = "" } = process.env;
const client = new Contactbase({ url: BASE, key: KEY });
let next = 0;

async function work(): Promise<void> {
  while (next < Number(COUNT)) {
    const created = await client.contacts.create({ name: `person ${next++}` });
    console.log("created", created.id, created.name);
  }
}

async function follow(): Promise<void> {
  let left = Number(COUNT);
  for await (const { data } of client.events.follow("")) {
    console.log("arrived", "id" in data && data.id, "name" in data && data.name);
    if (--left === 0) return;
  }
}

await Promise.all([follow(), ...Array.from({ length: 16 }, work)]);
