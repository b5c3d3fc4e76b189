// Package mcp serves the API to language models: its Model Context Protocol tools call the API on their caller's
// behalf. The API decides what a key may do, what it costs, and which requests are invalid.
package mcp

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"contactbase/internal/credential"
	"contactbase/internal/fault"
)

const instructions = "The contacts of a CRM. Search before you create a contact, to avoid duplicates. " +
	"An error begins with its code and says what to do."

// Caller is the sender of a message.
type Caller struct {
	Key       string
	Identity  *credential.Identity // of the key
	Address   string               // host and port, as in http.Request
	RequestID string               // of the message and its tool's requests
	Refused   *fault.Error         // returned by tools instead of calling the API; nil calls it

	called, asked *atomic.Bool
}

// Server answers clients' messages. It keeps no state about them, so that any process on the data directory can
// answer the next one.
type Server struct {
	api     func() (http.Handler, error)
	prefix  string // of the API's paths
	log     *slog.Logger
	handler http.Handler
}

// Router returns a handler of all routes registered so far.
type Router interface {
	BuildMux() (http.Handler, error)
}

// NewServer returns a server of this version of the program. Its tools call the router's API below prefix.
func NewServer(version string, router Router, prefix string, log *slog.Logger) *Server {
	s := &Server{api: sync.OnceValues(router.BuildMux), prefix: prefix, log: log}
	server := sdk.NewServer(&sdk.Implementation{
		Name: "contactbase", Title: "Contactbase", Version: version,
	}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the list never changes, and there is no log
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) { c.CacheScope = "private" },
	})
	for _, t := range tools {
		server.AddTool(&t.Tool, s.handle(t))
	}
	server.AddReceivingMiddleware(listPermitted)
	s.handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server },
		&sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	return s
}

type callerKey struct{}

// Answer answers a request whose body, one JSON object, has been read.
func (s *Server) Answer(r *http.Request, caller Caller, object []byte) (*Answer, error) {
	m, answer := parseMessage(object), &Answer{header: http.Header{}}
	caller.called, caller.asked = &atomic.Bool{}, &atomic.Bool{}
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(m.raw)), int64(len(m.raw))
	s.handler.ServeHTTP(answer, r)
	answer.Called, answer.Asked = caller.called.Load(), caller.asked.Load()
	return answer, answer.finish(&m)
}

// IsTool reports whether an API request comes from a tool, whose message has been counted.
func IsTool(r *http.Request) bool { return r.Context().Value(callerKey{}) != nil }

func callerOf(ctx context.Context) Caller { return ctx.Value(callerKey{}).(Caller) }

// listPermitted lists only the tools that the caller's key may use. The API rejects calls of the others.
func listPermitted(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, request)
		if list, ok := result.(*sdk.ListToolsResult); ok && err == nil {
			list.Tools = slices.DeleteFunc(list.Tools, func(listed *sdk.Tool) bool {
				return slices.ContainsFunc(tools, func(t *tool) bool {
					return t.Name == listed.Name && !callerOf(ctx).Identity.Allows(t.permission)
				})
			})
		}
		return result, err
	}
}
