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

// arguments are the arguments of a tool call: a JSON object, raw and decoded.
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

// safeID matches text that is safe in a path. Contacts' ids are shorter and have no other characters.
var safeID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,255}$`)

var errInvalidID = fault.InvalidField("id", fault.CodeInvalidValue,
	"must be the ID of a contact, as search_contacts shows it")

// id returns the contact's id, "" if none.
func (a arguments) id() string {
	var id string
	if json.Unmarshal(a.values["id"], &id) != nil || !safeID.MatchString(id) {
		return ""
	}
	return id
}

// query returns the arguments as query parameters, without nulls.
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

// handle returns the handler that runs a tool.
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
		address, body := url.URL{Path: s.prefix + "/contacts"}, a.object // the API ignores the id in it
		if t.aboutOne && a.id() == "" {
			return failure(errInvalidID.Code, errInvalidID.Message), nil
		}
		if t.aboutOne {
			address.Path += "/" + a.id()
		}
		if t.method == http.MethodGet || t.method == http.MethodDelete {
			body = nil
		}
		if t.method == http.MethodGet && !t.aboutOne {
			address.RawQuery = a.query()
		}
		result, err := s.ask(ctx, t.method, address.String(), body)
		if err != nil {
			id := caller.RequestID
			s.log.Error("an MCP tool failed", "tool", t.Name, "requestId", id, "error", err)
			result = failure(fault.Internal,
				"Something went wrong. Quote the request ID "+id+" when you ask for help; the log has the cause.")
		}
		return result, nil
	}
}

// ask sends an API request on the caller's behalf.
func (s *Server) ask(ctx context.Context, method, address string, body []byte) (_ *sdk.CallToolResult, err error) {
	defer func() {
		if cause := recover(); cause != nil { // in a goroutine of the SDK, where a panic would end the program
			err = fmt.Errorf("calling the API: %v", cause)
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

// resultOf returns a tool's result for a response of the API: its body, or its error as text.
func resultOf(status int, body []byte) (*sdk.CallToolResult, error) {
	if status == http.StatusNoContent {
		body = []byte("The contact was deleted.")
	}
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
		answer.Error.Message += " The request ID is " + answer.Error.RequestID + "."
	}
	return failure(answer.Error.Code, answer.Error.Message), nil
}

func failure(code fault.Code, message string) *sdk.CallToolResult {
	return &sdk.CallToolResult{
		IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: string(code) + ": " + message}},
	}
}
