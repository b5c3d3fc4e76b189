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

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"contactbase/internal/credential"
)

const instructions = "The contacts of a CRM. Search before you create a contact, so that none is there twice. " +
	"An error begins with its code and says what to do."

// Caller is whoever sends a message.
type Caller struct {
	Key       string
	Grant     *credential.Grant // of the key
	Address   string            // host and port, as in http.Request
	RequestID string            // of the message, and of what its tool asks
}

// Server answers the messages of clients. It keeps nothing about them, so that any process on the data folder can answer the
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

// CallsTool tells whether a message is a call of one of the tools, which the API counts where it is asked.
func CallsTool(message map[string]any) bool {
	params, _ := message["params"].(map[string]any)
	return message["method"] == "tools/call" && slices.ContainsFunc(tools, func(t *tool) bool { return t.Name == params["name"] })
}

type callerKey struct{}

// Serve answers a request that was read already, and holds one message.
func (s *Server) Serve(w http.ResponseWriter, r *http.Request, caller Caller, message []byte) {
	r = r.WithContext(context.WithValue(r.Context(), callerKey{}, caller))
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(message)), int64(len(message))
	s.handler.ServeHTTP(uncached{w}, r)
}

func callerOf(ctx context.Context) Caller { return ctx.Value(callerKey{}).(Caller) }

// listPermitted shows callers the tools that their keys may use. Calling another is refused by the API, in words.
func listPermitted(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, request sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, request)
		if list, ok := result.(*sdk.ListToolsResult); ok && err == nil {
			list.Tools = slices.DeleteFunc(list.Tools, func(listed *sdk.Tool) bool {
				return slices.ContainsFunc(tools, func(t *tool) bool {
					return t.Name == listed.Name && !callerOf(ctx).Grant.Allows(t.permission)
				})
			})
		}
		return result, err
	}
}

// uncached keeps answers out of caches on the way, which the SDK would let keep them.
type uncached struct{ http.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (w uncached) WriteHeader(status int) {
	w.Header().Set("Cache-Control", "no-store")
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w uncached) Write(b []byte) (int, error) {
	w.Header().Set("Cache-Control", "no-store")
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController flush.
func (w uncached) Unwrap() http.ResponseWriter { return w.ResponseWriter }
