// Package reference turns the OpenAPI document into the content of the API reference: operations with their
// parameters, bodies and answers, and examples with curl and with the Go, TypeScript and Python clients.
package reference

import (
	"strings"
	"sync"
)

// Base is the address of the installation in all examples. The pages replace it with their own.
const Base = "https://crm.example.com"

// Group is a tag with its operations.
type Group struct {
	Name        string
	Slug        string // the name as a part of an address
	Description string // Markdown
	Operations  []Operation
}

// Operation is a request of the API, or one that an outbound webhook sends.
type Operation struct {
	ID          string
	Method      string
	Path        string // with its parameters in braces; of a webhook the type of its event
	Summary     string
	Description string // Markdown
	Access      string // which credential it needs
	IsWebhook   bool
	Parameters  []Parameter
	Bodies      []Body
	Answers     []Answer
	Samples     []Sample
}

// Parameter is a part of the path, of the query or of the headers.
type Parameter struct {
	Property
	In      string // path, query or header
	Example string
}

// Body is a request body in a media type.
type Body struct {
	MediaType string
	Schema    Property
	Examples  []Example
}

// Answer is a response with a status.
type Answer struct {
	Status      string
	Description string // Markdown
	IsError     bool
	Codes       []string // of an error
	Headers     []Property
	MediaType   string
	Schema      Property
	Examples    []Example
}

// Example is a body.
type Example struct{ Title, Text string }

// Sample is an example of a request.
type Sample struct{ Language, Title, Code string }

// Groups returns the operations by their tags, in the order of the document. The caller must not change them.
var Groups = sync.OnceValue(func() []Group {
	document := parse()
	groups := []Group{}
	places := map[string]int{}
	for _, tag := range document.get("tags").items() {
		name := tag.get("name").text()
		places[name] = len(groups)
		groups = append(groups, Group{
			Name: name, Slug: strings.ReplaceAll(strings.ToLower(name), " ", "-"),
			Description: tag.get("description").text(),
		})
	}
	for _, kind := range []string{"paths", "webhooks"} {
		for path, item := range document.get(kind).pairs() {
			for method, operation := range item.pairs() {
				if method == "parameters" {
					continue
				}
				request := request{
					method: strings.ToUpper(method), path: path,
					isWebhook: kind == "webhooks", item: item, operation: operation,
				}
				group := &groups[places[operation.get("tags").items()[0].text()]]
				group.Operations = append(group.Operations, request.show())
			}
		}
	}
	return groups
})

// Codes returns the codes of errors, and of fields in errors. The caller must not change them.
var Codes = sync.OnceValue(func() []string {
	schemas := parse().get("components", "schemas")
	return append(schemas.get("ErrorCode", "enum").texts(), schemas.get("FieldErrorCode", "enum").texts()...)
})

// request is an operation as the document has it.
type request struct {
	method, path    string
	isWebhook       bool
	item, operation node
}

func (r request) id() string { return r.operation.get("operationId").text() }

func (r request) show() Operation {
	shown := Operation{
		ID: r.id(), Method: r.method, Path: r.path, Summary: r.operation.get("summary").text(),
		Description: r.operation.get("description").text(), Access: r.access(), IsWebhook: r.isWebhook, Samples: r.samples(),
	}
	for _, parameter := range r.parameters() {
		described := property(parameter.get("name").text(),
			parameter.get("schema"), parameter.get("required").text() == "true", nil)
		if text := parameter.get("description").text(); text != "" {
			described.Description = text
		}
		shown.Parameters = append(shown.Parameters,
			Parameter{Property: described, In: parameter.get("in").text(), Example: parameter.get("example").text()})
	}
	for mediaType, media := range r.operation.get("requestBody", "content").pairs() {
		shown.Bodies = append(shown.Bodies,
			Body{mediaType, property("", media.get("schema"), false, nil), examples(mediaType, media)})
	}
	for status, response := range r.operation.get("responses").pairs() {
		shown.Answers = append(shown.Answers, answer(status, response.resolved()))
	}
	return shown
}

// access names the credential that the operation needs.
func (r request) access() string {
	for _, scheme := range r.operation.get("security").items() {
		for name := range scheme.pairs() {
			return map[string]string{"BearerKey": "API key", "Superuser": "superuser's token"}[name]
		}
	}
	return ""
}

// parameters returns those of the operation, and behind them those that all operations of the path have.
func (r request) parameters() (all []node) {
	for _, parameter := range append(r.operation.get("parameters").items(), r.item.get("parameters").items()...) {
		all = append(all, parameter.resolved())
	}
	return all
}

func answer(status string, response node) Answer {
	shown := Answer{
		Status: status, Description: response.get("description").text(), Codes: response.get("x-error-codes").texts(),
	}
	shown.IsError = len(shown.Codes) > 0
	for name, header := range response.get("headers").pairs() {
		described := property(name, header.get("schema"), false, nil)
		described.Description = header.get("description").text()
		shown.Headers = append(shown.Headers, described)
	}
	for mediaType, media := range response.get("content").pairs() {
		// a second one has the same data in another form, which the description of the operation explains
		if shown.MediaType == "" {
			shown.MediaType, shown.Schema, shown.Examples = mediaType,
				property("", media.get("schema"), false, nil), examples(mediaType, media)
		}
	}
	return shown
}

// examples returns the examples of a media type: JSON, or a body as it is sent.
func examples(mediaType string, media node) (all []Example) {
	for name, example := range media.get("examples").pairs() {
		example = example.resolved()
		title, value := example.get("summary").text(), example.get("value")
		if title == "" {
			title = name
		}
		text := value.text()
		if !value.isText() || isJSON(mediaType) {
			text = value.json("  ")
		}
		all = append(all, Example{title, text})
	}
	return all
}

func isJSON(mediaType string) bool { return strings.HasSuffix(mediaType, "json") }
