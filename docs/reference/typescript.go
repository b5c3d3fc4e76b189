package reference

import (
	"fmt"
	"regexp"
	"strings"
)

// typeScriptCalls are the calls of the TypeScript client, as goCalls.
var typeScriptCalls = map[string]string{
	"listContacts": `
for await (const contact of client.contacts.all({ q: {q}, limit: {limit} })) {
  console.log(contact.id, contact.name);
}`,
	"countContacts": `
const { count, more } = await client.contacts.count({ q: {q} });
console.log(count, more);`,
	"createContact": tsReturns(`client.contacts.create({fields}, { idempotencyKey: {Idempotency-Key} })`),
	"getContact":    tsReturns(`client.contacts.get({id})`),
	"updateContact": tsReturns(`client.contacts.update({id}, {fields})`),
	"upsertContact": tsReturns(`client.contacts.upsert({externalId}, {fields})`),
	"deleteContact": "\nawait client.contacts.delete({id});",
	"mergeContacts": tsReturns(`client.contacts.merge({id}, {fields})`),
	"writeContacts": `
const { results } = await client.contacts.batch({fields}, { idempotencyKey: {Idempotency-Key} });
for (const { index, status, error } of results) {
  console.log(index, status, error?.code);
}`,
	"createPortalLink": `
const { url } = await client.portalLinks.create({id}, {fields});
console.log(url);`,
	"listEvents": `
for await (const event of client.events.after({after}, { types: [{types}] })) {
  console.log(event.id, event.type);
}`,
}

func tsReturns(call string) string {
	return "\nconst contact = await " + call + ";\nconsole.log(contact.id, contact.name);"
}

const tsClient = `import { Contactbase } from "contactbase";

const client = new Contactbase({ url: "` + Base + `", key: process.env.CONTACTBASE_KEY! });`

// typeScript returns the call of the TypeScript client, and "" if it has none for the operation.
func (r request) typeScript() string {
	if r.isWebhook {
		return r.tsReceiver()
	}
	call, ok := typeScriptCalls[r.id()]
	if !ok {
		return ""
	}
	return tsClient + r.fill(call, tsText, tsLiteral, tsLiteral)
}

func tsText(text string) string { return fmt.Sprintf("%q", text) }

var (
	bareKey   = regexp.MustCompile(`(?m)^( *)"([A-Za-z_][A-Za-z0-9_]*)": `)
	lastComma = regexp.MustCompile(`(["}\]\w])\n`)
)

// tsLiteral returns a value as TypeScript is usually written: JSON with bare keys, and a comma behind the
// last item of a list.
func tsLiteral(value node) string {
	text := bareKey.ReplaceAllString(value.json("  "), "$1$2: ")
	return lastComma.ReplaceAllString(text, "$1,\n")
}

// tsReceiver returns a server that receives the event.
func (r request) tsReceiver() string {
	used := "event." + strings.Join(r.subjectID(), ".")
	return `import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { verify } from "contactbase/webhook";

createServer(async (request, response) => {
  try {
    const event = await verify(await buffer(request), request.headers, process.env.CONTACTBASE_WEBHOOK_SECRET!);
    if (event.type === "` + r.path + `") {
      console.log(event.type, ` + used + `);
    }
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
}).listen(3000, "127.0.0.1");`
}
