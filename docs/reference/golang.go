package reference

import (
	"fmt"
	"go/format"
	"strconv"
	"strings"

	"contactbase/internal/contact"
)

// goCalls are the calls of the Go client, by the id of the operation. Names in braces are replaced with the
// examples of the document.
var goCalls = map[string]string{
	"listContacts": `
for contact, err := range client.Contacts.All(ctx, contactbase.ListOptions{Q: {q}, Limit: {limit}}) {
	if err != nil {
		return err
	}
	fmt.Println(contact.ID, contact.Name)
}`,
	"countContacts": `
count, err := client.Contacts.Count(ctx, contactbase.ListOptions{Q: {q}})
if err != nil {
	return err
}
fmt.Println(count.N, count.More)`,
	"createContact": goReturns(`client.Contacts.Create(ctx, {fields}, contactbase.IdempotencyKey({Idempotency-Key}))`),
	"getContact":    goReturns(`client.Contacts.Get(ctx, {id})`),
	"updateContact": goReturns(`client.Contacts.Update(ctx, {id}, {fields})`),
	"upsertContact": goReturns(`client.Contacts.Upsert(ctx, {externalId}, {fields})`),
	"deleteContact": `
if err := client.Contacts.Delete(ctx, {id}); err != nil {
	return err
}`,
	"mergeContacts": goReturns(`client.Contacts.Merge(ctx, {id}, {fields})`),
	"writeContacts": `
outcome, err := client.Contacts.Batch(ctx, contactbase.Batch{Items: []contactbase.BatchItem{{batch}}}, ` +
		`contactbase.IdempotencyKey({Idempotency-Key}))
if err != nil {
	return err
}
for _, result := range outcome.Results {
	fmt.Println(result.Index, result.Status, result.Error)
}`,
	"createPortalLink": `
link, err := client.PortalLinks.Create(ctx, {id}, {fields})
if err != nil {
	return err
}
fmt.Println(link.URL)`,
	"listEvents": `
for event, err := range client.Events.After(ctx, {after}, contactbase.EventOptions{Types: []string{{types}}}) {
	if err != nil {
		return err
	}
	fmt.Println(event.Head().ID, event.Head().Type)
}`,
}

func goReturns(call string) string {
	return "\ncontact, err := " + call + "\nif err != nil {\n\treturn err\n}\nfmt.Println(contact.ID, contact.Name)"
}

const goImport = `import contactbase "contactbase/clients/go"` + "\n\n"

const goClient = `client, err := contactbase.New("` + Base + `", os.Getenv("CONTACTBASE_KEY"))
if err != nil {
	return err
}`

// goSample returns the call of the Go client, and "" if it has none for the operation.
func (r request) goSample() string {
	if r.isWebhook {
		return r.goReceiver()
	}
	call, ok := goCalls[r.id()]
	if !ok {
		return ""
	}
	return goImport + goFormat(goClient+r.fill(call, strconv.Quote, goFields, goBatch))
}

// goFormat formats statements as gofmt does.
func goFormat(statements string) string {
	formatted, err := format.Source([]byte(statements))
	if err != nil {
		panic("reference: " + err.Error()) // unreachable: the tests render all examples
	}
	return string(formatted)
}

// fill replaces the names in braces in a call: fields and batches by the body, a list of texts, and anything else by
// the parameter of that name.
func (r request) fill(call string, quote func(string) string, fields, batch func(node) string) string {
	_, body := r.body()
	call = strings.NewReplacer("{{batch}}", "{"+onDemand(call, "{batch}", body, batch)+"}",
		"{fields}", onDemand(call, "{fields}", body, fields)).Replace(call)
	for _, in := range []string{"path", "query", "header"} {
		for _, parameter := range r.used(in) {
			name, example := parameter.get("name").text(), parameter.get("example")
			value := quote(example.text())
			if !example.isText() {
				value = example.text()
			}
			if name == "types" {
				value = `"` + strings.ReplaceAll(example.text(), ",", `", "`) + `"`
			}
			call = strings.ReplaceAll(call, "{"+name+"}", value)
		}
	}
	return call
}

// onDemand renders the body if the call has a place for it.
func onDemand(call, place string, body node, render func(node) string) string {
	if !strings.Contains(call, place) {
		return ""
	}
	return render(body)
}

// goMerge returns the contacts to merge as a literal.
func goMerge(body node) string {
	var fields strings.Builder
	for name, id := range body.get("fields").pairs() {
		fmt.Fprintf(&fields, "%q: %q,", name, id.text())
	}
	return fmt.Sprintf("contactbase.Merge{\n\tFrom: []string{%s},\n\tFields: map[string]string{%s},\n}",
		strings.Trim(body.get("from").json(""), "[]"), strings.TrimSuffix(fields.String(), ","))
}

// goLink returns what a portal link allows as a literal.
func goLink(body node) string {
	return fmt.Sprintf("contactbase.PortalLinkOptions{\n\tRole: contactbase.Role%s,\n\tName: %q,\n"+
		"\tDuration: %s * time.Second,\n}",
		title(body.get("role").text()), body.get("name").text(), body.get("expiresIn").text())
}

// goFields returns the fields of a contact as a literal.
func goFields(body node) string {
	if body.get("from").has() {
		return goMerge(body)
	}
	if body.get("role").has() {
		return goLink(body)
	}
	var out, custom strings.Builder
	for name, value := range body.pairs() {
		field := strings.ReplaceAll(title(name), "Id", "ID")
		switch {
		case contact.FieldNamed(name) == nil:
			fmt.Fprintf(&custom, "%q: %s, ", name, value.json(""))
		case value.isNull():
			fmt.Fprintf(&out, "\t%s: contactbase.String(\"\"), // no value\n", field)
		default:
			fmt.Fprintf(&out, "\t%s: contactbase.String(%q),\n", field, value.text())
		}
	}
	if custom.Len() > 0 {
		fmt.Fprintf(&out, "\tCustom: map[string]any{%s},\n", strings.TrimSuffix(custom.String(), ", "))
	}
	return "contactbase.Fields{\n" + out.String() + "}"
}

// goBatch returns the items of a batch as literals.
func goBatch(body node) string {
	var out strings.Builder
	for _, item := range body.get("items").items() {
		out.WriteString("\n\t{Action: contactbase.Action" + title(item.get("action").text()))
		if id := item.get("id"); id.has() {
			fmt.Fprintf(&out, ", ID: %q", id.text())
		}
		if match := item.get("match"); match.has() {
			out.WriteString(", Match: contactbase.Match" + title(match.text()))
		}
		if !item.get("contact").has() {
			out.WriteString("},")
			continue
		}
		fields := strings.NewReplacer("{\n\t", "{", ",\n\t", ", ", ",\n}", "}").Replace(goFields(item.get("contact")))
		out.WriteString(", Contact: " + fields + "},")
	}
	return out.String() + "\n"
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// goReceiver returns a server that receives the event.
func (r request) goReceiver() string {
	kind := strings.TrimPrefix(r.id(), "on")
	used := "event.Contact.ID"
	switch prefix, _, _ := strings.Cut(r.path, "."); {
	case kind == "Ping":
		used = "event.ID"
	case prefix == "webhook":
		used = "event.Webhook.ID"
	case prefix == "key":
		used = "event.Key.ID"
	}
	return `import contactbase "contactbase/clients/go"
import "contactbase/clients/go/webhook"

http.HandleFunc("POST /contactbase", func(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		return
	}
	received, err := webhook.Verify(body, r.Header, os.Getenv("CONTACTBASE_WEBHOOK_SECRET"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnauthorized)
		return
	}
	if event, ok := received.(contactbase.` + kind + `); ok {
		fmt.Println(event.Type, ` + used + `)
	}
})
return http.ListenAndServe("127.0.0.1:3000", nil)`
}
