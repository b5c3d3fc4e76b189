// Package mcp is the API for language models: a server of the Model Context Protocol whose tools ask the API in the name of
// their caller. What a key may do, what it costs and what is wrong with a request is the API's to say.
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

const instructions = "The contacts of a CRM. Search before you create a contact, so that none is there twice. " +
	"An error begins with its code and says what to do."

// Caller is the sender of a message.
type Caller struct {
	Key       string
	Identity  *credential.Identity // of the key
	Address   string               // host and port, as in http.Request
	RequestID string               // of the message, and of what its tool asks
	Refused   *fault.Error         // what tools answer in place of asking the API; nil lets them ask

	called, asked *atomic.Bool
}

// Server answers the messages of clients. It keeps nothing about them, so that any process on the data directory can answer the
// next one.
type Server struct {
	api     func() (http.Handler, error)
	prefix  string // of the API's addresses
	log     *slog.Logger
	handler http.Handler
}

// Router makes a handler of all the routes that it has by then.
type Router interface {
	BuildMux() (http.Handler, error)
}

// NewServer returns a server of that version of the program. Its tools ask the API that the router has below a prefix.
func NewServer(version string, router Router, prefix string, log *slog.Logger) *Server {
	s := &Server{api: sync.OnceValues(router.BuildMux), prefix: prefix, log: log}
	server := sdk.NewServer(&sdk.Implementation{Name: "contactbase", Title: "Contactbase", Version: version}, &sdk.ServerOptions{
		Instructions: instructions,
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}, // the list stays the same, and there is no log
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

// Answer answers a request that was read already, and holds one JSON object.
func (s *Server) Answer(r *http.Request, caller Caller, object []byte) (*Answer, error) {
	m, answer := parseMessage(object), &Answer{header: http.Header{}}
	caller.called, caller.asked = &atomic.Bool{}, &atomic.Bool{}
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(m.raw)), int64(len(m.raw))
	s.handler.ServeHTTP(answer, r)
	answer.Called, answer.Asked = caller.called.Load(), caller.asked.Load()
	return answer, answer.finish(&m)
}

// IsTool reports whether a request of the API is one of a tool, whose message was counted already.
func IsTool(r *http.Request) bool { return r.Context().Value(callerKey{}) != nil }

func callerOf(ctx context.Context) Caller { return ctx.Value(callerKey{}).(Caller) }

// listPermitted shows callers the tools that their keys may use. Calling another is refused by the API, in words.
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
