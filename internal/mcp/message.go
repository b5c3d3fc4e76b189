package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// message is a client's message, with a token of ours instead of its id. The SDK reads numbers as floating-point, and
// would change large integers; the response gets the id back byte for byte.
type message struct {
	raw   []byte
	id    []byte // as sent; "null" if the protocol allows no such id
	token []byte // a JSON string
}

func parseMessage(object []byte) message {
	m := message{id: []byte("null"), token: []byte(`"id-` + rand.Text() + `"`)}
	decoder := json.NewDecoder(bytes.NewReader(object))
	copied := int64(0)
	if _, err := decoder.Token(); err != nil { // the brace
		return message{raw: object, id: m.id, token: m.token}
	}
	for decoder.More() {
		name, err := decoder.Token()
		var value json.RawMessage
		if err == nil {
			err = decoder.Decode(&value)
		}
		if err != nil {
			return message{raw: object, id: []byte("null"), token: m.token}
		}
		if name != "id" || !isID(value) {
			continue
		}
		end := decoder.InputOffset()
		m.raw = append(append(m.raw, object[copied:end-int64(len(value))]...), m.token...)
		m.id, copied = value, end
	}
	m.raw = append(m.raw, object[copied:]...)
	return m
}

// isID reports whether a JSON value is a valid request id: a string or a number.
func isID(value []byte) bool {
	return value[0] == '"' || value[0] == '-' || value[0] >= '0' && value[0] <= '9'
}

// restore returns a response with the message's own id.
func (m *message) restore(answer []byte) []byte { return bytes.ReplaceAll(answer, m.token, m.id) }

// unsupported is the start of the SDK's error for an unknown method.
const unsupported = "JSON RPC not handled"

// refusal returns the error object for the SDK's plain-text error.
func (m *message) refusal(text string) ([]byte, error) {
	text = strings.TrimSpace(text)
	code := int64(jsonrpc.CodeInvalidRequest)
	if strings.HasPrefix(text, unsupported) {
		code = jsonrpc.CodeMethodNotFound
	}
	return json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   jsonrpc.Error   `json:"error"`
	}{"2.0", m.id, jsonrpc.Error{Code: code, Message: text}})
}

// Answer is the response to a message.
type Answer struct {
	Status int
	Called bool // a tool was called
	Asked  bool // the tool has called the API

	header http.Header
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (a *Answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter.
func (a *Answer) WriteHeader(status int) {
	if a.Status == 0 {
		a.Status = status
	}
}

// Write implements http.ResponseWriter.
func (a *Answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// Flush implements http.Flusher. Everything is sent at the end.
func (a *Answer) Flush() {}

// Send sends the response. Unlike the SDK, it forbids caches to store it.
func (a *Answer) Send(w http.ResponseWriter) error {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(a.Status)
	_, err := w.Write(a.body.Bytes())
	return err
}

// finish puts the message's id into the response, and makes every error a JSON-RPC error object.
func (a *Answer) finish(m *message) error {
	if a.Status == 0 { // the client has gone
		a.Status = http.StatusBadRequest
	}
	body := m.restore(a.body.Bytes())
	if a.Status >= http.StatusBadRequest && !json.Valid(body) {
		refusal, err := m.refusal(string(body))
		if err != nil {
			return err
		}
		body = refusal
		a.header.Set("Content-Type", "application/json")
	}
	a.body = *bytes.NewBuffer(body)
	return nil
}
