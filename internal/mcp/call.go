package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"contactbase/internal/fault"
)

// arguments are what a tool is called with: an object, by its properties and as it was sent.
type arguments struct {
	values map[string]json.RawMessage
	object []byte
}

func parseArguments(sent json.RawMessage) (arguments, error) {
	a := arguments{object: sent}
	if len(sent) == 0 {
		a.object = []byte("{}")
	}
	if err := json.Unmarshal(a.object, &a.values); err != nil {
		return a, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "The arguments of a tool must be an object."}
	}
	return a, nil
}

// safeID matches what may be a part of a path as it is. The ids of contacts are shorter and have nothing else.
var safeID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)

var errInvalidID = fault.InvalidField("id", fault.CodeInvalidValue, "must be the id of a contact, as search_contacts shows it")

// id returns the contact that the arguments name, "" where they name none.
func (a arguments) id() string {
	var id string
	if json.Unmarshal(a.values["id"], &id) != nil || !safeID.MatchString(id) {
		return ""
	}
	return id
}

// query returns the arguments as parameters of an address. A null is none.
func (a arguments) query() string {
	query := url.Values{}
	for name, value := range a.values {
		var text *string
		switch err := json.Unmarshal(value, &text); {
		case err != nil:
			query.Set(name, string(value))
		case text != nil:
			query.Set(name, *text)
		}
	}
	return query.Encode()
}

// handle returns what runs a tool.
func (s *Server) handle(t *tool) sdk.ToolHandler {
	return func(ctx context.Context, request *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		a, err := parseArguments(request.Params.Arguments)
		if err != nil {
			return nil, err
		}
		caller := callerOf(ctx)
		caller.called.Store(true)
		if refused := caller.Refused; refused != nil {
			return failure(refused.Code, refused.Message), nil //nolint:nilerr // the refusal is the result
		}
		address, body := url.URL{Path: s.prefix + "/contacts"}, a.object // in which the API ignores the id
		if t.aboutOne && a.id() == "" {
			return failure(errInvalidID.Code, errInvalidID.Message), nil
		}
		if t.aboutOne {
			address.Path += "/" + a.id()
		}
		if t.method == http.MethodGet {
			body = nil
		}
		if t.method == http.MethodGet && !t.aboutOne {
			address.RawQuery = a.query()
		}
		result, err := s.ask(ctx, t.method, address.String(), body)
		if err != nil {
			id := caller.RequestID
			s.log.Error("a tool of a model failed", "tool", t.Name, "requestId", id, "error", err)
			result = failure(fault.Internal, "Something went wrong here; the request id "+id+" helps to find it in the log.")
		}
		return result, nil
	}
}

// ask sends the API a request of the caller's.
func (s *Server) ask(ctx context.Context, method, address string, body []byte) (_ *sdk.CallToolResult, err error) {
	defer func() {
		if cause := recover(); cause != nil { // in a goroutine of the SDK's: it would end the program
			err = fmt.Errorf("asking the API: %v", cause)
		}
	}()
	api, err := s.api()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	caller := callerOf(ctx)
	caller.asked.Store(true)
	request.RemoteAddr = caller.Address
	request.Header.Set("X-API-Key", caller.Key)
	request.Header.Set("X-Request-Id", caller.RequestID)
	request.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	api.ServeHTTP(answer, request)
	return resultOf(answer.Code, answer.Body.Bytes())
}

// resultOf returns what a tool says for an answer of the API: its body, or its error as a sentence.
func resultOf(status int, body []byte) (*sdk.CallToolResult, error) {
	if status < http.StatusMultipleChoices {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: string(body)}}}, nil
	}
	var answer struct {
		Error struct {
			Code               fault.Code
			Message, RequestID string
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, fmt.Errorf("the API answered %d: %w", status, err)
	}
	if status >= http.StatusInternalServerError {
		answer.Error.Message += " The request id is " + answer.Error.RequestID + "."
	}
	return failure(answer.Error.Code, answer.Error.Message), nil
}

func failure(code fault.Code, message string) *sdk.CallToolResult {
	return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(code) + ": " + message}}}
}
