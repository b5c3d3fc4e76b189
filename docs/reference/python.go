package reference

import (
	"fmt"
	"regexp"
	"strings"
)

// pythonCalls are the calls of the Python client, as goCalls.
var pythonCalls = map[string]string{
	"listContacts": `
for contact in client.contacts.list(q={q}, limit={limit}):
    print(contact["id"], contact["name"])`,
	"countContacts": `
count = client.contacts.count(q={q})
print(count, count.more)`,
	"createContact": pyReturns(`client.contacts.create({fields}, idempotency_key={Idempotency-Key})`),
	"deleteContact": `
client.contacts.delete({id})
print("deleted")`,
	"getContact":    pyReturns(`client.contacts.get({id})`),
	"updateContact": pyReturns(`client.contacts.update({id}, {fields})`),
	"upsertContact": pyReturns(`client.contacts.upsert({externalId}, {fields})`),
	"mergeContacts": pyReturns(`client.contacts.merge({id}, {fields})`),
	"writeContacts": `
outcome = client.contacts.batch({fields}, idempotency_key={Idempotency-Key})
for result in outcome["results"]:
    print(result["index"], result["status"], result.get("error"))`,
	"createPortalLink": `
link = client.portal_links.create({id}, {fields})
print(link["url"])`,
	"listEvents": `
for event in client.events.list({after}, types=[{types}]):
    print(event["id"], event["type"])`,
}

func pyReturns(call string) string {
	return "\ncontact = " + call + "\nprint(contact[\"id\"], contact[\"name\"])"
}

const pyClient = `import os

from contactbase import Contactbase

client = Contactbase(url="` + Base + `", key=os.environ["CONTACTBASE_KEY"])`

// python returns the call of the Python client, and "" if it has none for the operation.
func (r request) python() string {
	if r.isWebhook {
		return r.pyReceiver()
	}
	call, ok := pythonCalls[r.id()]
	if !ok {
		return ""
	}
	return pyClient + r.fill(call, tsText, pyFields, pyFields)
}

// pyConstant matches a value of JSON that Python writes in another way, at the end of its line.
var pyConstant = regexp.MustCompile(`(?m)(^\s*|: )(null|true|false)(,?)$`)

// pyLiteral returns a value as Python is usually written, with a comma behind the last item.
func pyLiteral(value node) string {
	text := pyConstant.ReplaceAllStringFunc(value.json("    "), strings.NewReplacer(
		"null", "None", "true", "True", "false", "False").Replace)
	return lastComma.ReplaceAllString(text, "$1,\n")
}

// pyFields returns the body as arguments: the contacts to merge and their fields, what a portal link allows, or the
// items of a batch.
func pyFields(body node) string {
	if from := body.get("from"); from.has() {
		arguments := from.json("")
		if fields := body.get("fields"); fields.has() {
			arguments += ", fields=" + fields.json("")
		}
		return strings.NewReplacer(`","`, `", "`, `":"`, `": "`).Replace(arguments)
	}
	if role := body.get("role"); role.has() {
		return fmt.Sprintf("role=%q, name=%q, expires_in=%s",
			role.text(), body.get("name").text(), body.get("expiresIn").text())
	}
	if items := body.get("items"); items.has() {
		return pyLiteral(items)
	}
	return pyLiteral(body)
}

// pyReceiver returns a server that receives the event.
func (r request) pyReceiver() string {
	used := `event["` + strings.Join(r.subjectID(), `"]["`) + `"]`
	return `import os
from http.server import BaseHTTPRequestHandler, HTTPServer

from contactbase.webhook import NotVerifiedError, verify


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            event = verify(body, self.headers, os.environ["CONTACTBASE_WEBHOOK_SECRET"])
        except NotVerifiedError:
            self.send_error(401)
            return
        if event["type"] == "` + r.path + `":
            print(event["type"], ` + used + `)
        self.send_response(204)
        self.end_headers()


HTTPServer(("127.0.0.1", 3000), Receiver).serve_forever()`
}
