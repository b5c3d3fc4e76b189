package routes

import (
	"errors"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/api"
	"contactbase/clients"
	"contactbase/docs"
	"contactbase/internal/address"
)

// docsPolicy lets the documentation load only its own files, and its icon, which is data.
const docsPolicy = "default-src 'none'; script-src 'self'; " +
	"style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// document caches the OpenAPI document as JSON for one Application URL.
type document struct {
	version string

	mu      sync.Mutex
	address string
	json    []byte
}

// at returns the document with this address as its server.
func (d *document) at(address string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.json == nil || d.address != address {
		d.address, d.json = address, api.JSONFor(d.version, address)
	}
	return d.json
}

// openAPI serves the OpenAPI document. It holds no secrets: anybody may read it.
func (s *server) openAPI(e *core.RequestEvent) error {
	e.Response.Header().Set("Cache-Control", "no-cache")
	address := strings.TrimRight(e.App.Settings().Meta.AppURL, "/")
	return e.Blob(http.StatusOK, "application/json", s.document.at(address))
}

// bindDocs serves the API reference and the guides.
func (s *server) bindDocs(e *core.ServeEvent) {
	served := clients.NamesFor(s.Version)
	e.Router.GET("/openapi.json", s.openAPI).Bind(apis.Gzip())
	e.Router.GET("/llms.txt", func(e *core.RequestEvent) error {
		e.Response.Header().Set("Cache-Control", "no-cache")
		return e.String(http.StatusOK, docs.ForModels(address.Base(e), served))
	}).Bind(apis.Gzip())
	// The router's own redirect would lose a proxy's path.
	e.Router.GET("/_", func(e *core.RequestEvent) error { return e.Redirect(http.StatusMovedPermanently, "_/") })
	group := e.Router.Group("/docs")
	group.Bind(apis.SkipSuccessActivityLog())
	group.BindFunc(func(e *core.RequestEvent) error {
		e.Response.Header().Set("Content-Security-Policy", docsPolicy)
		e.Response.Header().Set("Cache-Control", "no-cache")
		return e.Next()
	})
	show := func(e *core.RequestEvent) error { return showDocs(e, served) }
	group.GET("", show).Bind(apis.Gzip())
	group.GET("/{$}", func(e *core.RequestEvent) error { return e.Redirect(http.StatusMovedPermanently, "../docs") })
	group.GET("/{name}", show).Bind(apis.Gzip())
	group.GET("/search.json", func(e *core.RequestEvent) error {
		return e.Blob(http.StatusOK, "application/json", docs.SearchIndex())
	}).Bind(apis.Gzip())
	group.GET("/assets/{path...}", apis.Static(docs.Assets(), false))
	group.GET("/{path...}", func(e *core.RequestEvent) error { return OrMissing(e, router.ErrFileNotFound) })
	group.GET("/clients/{name}", serveClients(served))
}

// serveClients serves the clients as packages, which are made when the first one is downloaded.
func serveClients(served clients.Names) func(*core.RequestEvent) error {
	packed := sync.OnceValues(func() (map[string][]byte, error) { return clients.Pack(served) })
	return func(e *core.RequestEvent) error {
		all, err := packed()
		if err != nil {
			return err
		}
		name := e.Request.PathValue("name")
		content, found := all[name]
		if !found {
			return OrMissing(e, router.ErrFileNotFound)
		}
		kind := "application/zip"
		if strings.HasSuffix(name, ".tgz") {
			kind = "application/gzip"
		}
		return e.Blob(http.StatusOK, kind, content)
	}
}

func showDocs(e *core.RequestEvent, served clients.Names) error {
	page, found := docs.Render(e.Request.PathValue("name"), served)
	if !found {
		return OrMissing(e, router.ErrFileNotFound)
	}
	return e.HTML(http.StatusOK, string(page))
}

// OrMissing answers a request for a file that does not exist with a page if the client asks for one, and with JSON
// otherwise. It returns other errors.
func OrMissing(e *core.RequestEvent, err error) error {
	path := e.Request.URL.Path
	if !errors.Is(err, router.ErrFileNotFound) || below("/api", path) || below(mcpPrefix, path) {
		return err
	}
	e.Response.Header().Add("Vary", "Accept")
	if !namesHTML(e.Request.Header) {
		return e.NotFoundError("This page does not exist.", nil)
	}
	e.Response.Header().Set("Content-Security-Policy", docsPolicy)
	e.Response.Header().Set("Cache-Control", "no-cache")
	root := "./" + strings.Repeat("../", max(strings.Count(path, "/")-1, 0))
	return e.HTML(http.StatusNotFound, string(docs.Missing(root)))
}

// namesHTML reports whether the client names HTML, as browsers do, and programs that accept anything do not.
func namesHTML(header http.Header) bool {
	for _, list := range header.Values("Accept") {
		for part := range strings.SplitSeq(list, ",") {
			kind, parameters, err := mime.ParseMediaType(part)
			if err != nil || kind != "text/html" {
				continue
			}
			quality, err := strconv.ParseFloat(parameters["q"], 64)
			return parameters["q"] == "" || err == nil && quality > 0
		}
	}
	return false
}
