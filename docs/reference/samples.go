package reference

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// receiver is where the examples of outbound webhooks receive them.
const receiver = "http://127.0.0.1:3000/contactbase"

// shown are the optional parameters that the examples of an operation have.
var shown = map[string][]string{
	"listContacts":       {"q", "limit"},
	"countContacts":      {"q"},
	"createContact":      {"Idempotency-Key"},
	"writeContacts":      {"Idempotency-Key"},
	"listEvents":         {"after", "types"},
	"getWebhookActivity": {"period"},
	"getKeyActivity":     {"period"},
}

// samples returns the request with curl and, if they have the operation, with the clients.
func (r request) samples() []Sample {
	all := []Sample{
		{"curl", "curl", r.curl()}, {"go", "Go", r.goSample()},
		{"ts", "TypeScript", r.typeScript()}, {"python", "Python", r.python()},
	}
	return slices.DeleteFunc(all, func(s Sample) bool { return s.Code == "" })
}

// subjectID returns where an event has the ID of the contact, webhook or key that it is about; a ping has only its own.
func (r request) subjectID() []string {
	switch prefix, _, _ := strings.Cut(r.path, "."); {
	case r.id() == "onPing":
		return []string{"id"}
	case prefix == "contact":
		return []string{"data", "id"}
	default:
		return []string{"data", prefix, "id"}
	}
}

// used returns the parameters of a kind that the examples have, with their values.
func (r request) used(in string) (all []node) {
	for _, parameter := range r.parameters() {
		isShown := parameter.get("required").text() == "true"
		for _, name := range shown[r.id()] {
			isShown = isShown || name == parameter.get("name").text()
		}
		if isShown && parameter.get("in").text() == in {
			all = append(all, parameter)
		}
	}
	return all
}

// address returns the address of the example, with path and query.
func (r request) address() string {
	path := r.path
	for _, parameter := range r.used("path") {
		path = strings.ReplaceAll(path, "{"+parameter.get("name").text()+"}", url.PathEscape(parameter.get("example").text()))
	}
	var query []string
	for _, parameter := range r.used("query") {
		escaped := strings.ReplaceAll(url.QueryEscape(parameter.get("example").text()), "%2C", ",")
		query = append(query, parameter.get("name").text()+"="+escaped)
	}
	if query != nil {
		path += "?" + strings.Join(query, "&")
	}
	return Base + path
}

// body returns the media type and the first example of the body.
func (r request) body() (mediaType string, example node) {
	for mediaType, media := range r.operation.get("requestBody", "content").pairs() {
		for _, example := range media.get("examples").pairs() {
			return mediaType, example.get("value")
		}
	}
	return "", node{}
}

// bodyText returns the body as it is sent, indented.
func (r request) bodyText() string {
	switch mediaType, example := r.body(); {
	case !example.has():
		return ""
	case isJSON(mediaType):
		return example.json("  ")
	default:
		return example.text()
	}
}

// credential returns the header with the credential, and the shell variable that has its value.
func (r request) credential() (header, variable string) {
	switch r.access() {
	case "API key":
		return "X-API-Key", "KEY"
	case "superuser's token":
		return "Authorization", "TOKEN"
	default:
		return "", ""
	}
}

// curl returns the command that makes the request, and for an outbound webhook the one that sends it to a
// receiver under test.
func (r request) curl() string {
	if r.isWebhook {
		return r.delivery()
	}
	lines := []string{"curl " + shell(r.address())}
	mediaType, example := r.body()
	if method := r.method; method != "GET" && (method != "POST" || !example.has()) {
		lines[0] = "curl -X " + method + " " + shell(r.address())
	}
	if header, variable := r.credential(); header != "" {
		lines = append(lines, fmt.Sprintf(`-H "%s: $%s"`, header, variable))
	}
	for _, parameter := range r.used("header") {
		lines = append(lines, "-H "+shell(parameter.get("name").text()+": "+parameter.get("example").text()))
	}
	if example.has() {
		lines = append(lines, "-H "+shell("Content-Type: "+mediaType), "--data-binary "+shell(r.bodyText()))
	}
	return strings.Join(lines, " \\\n  ")
}

// delivery returns the command that sends the event to a receiver under test, signed as an installation signs it.
func (r request) delivery() string {
	_, example := r.body()
	return "BODY=" + shell(example.json("")) + "\n" +
		"curl " + receiver + ` \
  -H 'Content-Type: application/json' \
  -H ` + shell("X-Event: "+r.path) + ` \
  -H "X-Signature: $(printf %s "$BODY" | openssl dgst -sha256 -hmac "$SECRET" -r | cut -d' ' -f1)" \
  --data-binary "$BODY"`
}

// shell quotes a word for a POSIX shell, if it needs quotes.
func shell(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=@%+"
	if strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
