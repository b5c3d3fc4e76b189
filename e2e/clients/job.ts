/** What is done with each generated client, so that all are held to the same. A client fulfils it by its generated types. */

/** A contact as far as the job looks at it. */
export interface Contact {
  id: string;
  email: string | null;
  phone: string | null;
  company: string | null;
}

/** An error as the API describes it. */
export interface Fault {
  code: string;
  message: string;
  requestId: string;
  fields?: { [name: string]: { code: string; message: string } };
}

/** A client, reduced to what the job calls. Whatever fails throws, except refuse. */
export interface Client {
  create(contact: { name: string; email: string; phone: string }): Promise<Contact>;
  get(id: string): Promise<Contact>;
  update(id: string, change: { company: string; phone: null }): Promise<Contact>;
  find(text: string): Promise<Contact[]>;
  /** Creates a contact that has to be refused. Returns the error and the header X-Request-Id. */
  refuse(contact: { name: string; phone: string }): Promise<{ fault: Fault; requestId: string | null }>;
}

/** The address of the installation and the API key, from the environment. */
export const { BASE = "", KEY = "" } = (globalThis as unknown as { process: { env: { BASE?: string; KEY?: string } } }).process.env;

function check(holds: boolean, what: string, got: unknown): void {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(got)}`);
}

/** Creates, gets, updates and finds a contact, and is refused another. */
export async function run(name: string, client: Client): Promise<void> {
  const email = `${name}@example.com`;
  const created = await client.create({ name: `Ada of ${name}`, email, phone: "+44 20 7946 0958" });
  check(created.email === email && created.phone === "+442079460958", "created", created);
  const got = await client.get(created.id);
  check(got.id === created.id && got.company === null, "got", got);
  const updated = await client.update(created.id, { company: "Engines", phone: null });
  check(updated.company === "Engines" && updated.phone === null && updated.email === email, "updated", updated);
  const found = await client.find(`ada of ${name}`);
  check(found.length === 1 && found[0]?.id === created.id, "found", found);
  const { fault, requestId } = await client.refuse({ name, phone: "12" });
  const { code, message, fields } = fault;
  check(code === "validation_failed" && message !== "" && fault.requestId === requestId, "error", { fault, requestId });
  check(fields?.["phone"]?.code === "invalid_phone" && fields["phone"].message !== "", "fields", fault);
  console.log(`${name}: done`);
}
