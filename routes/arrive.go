package routes

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/visitor"
)

// byExternalID is the path below which all the rest is an external ID.
const byExternalID = apiPrefix + "/contacts/by-external-id/"

// arrive runs before the router, and gives it requests that it reads as they are meant. It reads the addresses that
// proxies send with a port. An external ID in the path becomes one segment. http.ServeMux answers a path with doubled
// slashes or dots with an HTML redirect that no middleware sees: below our prefixes, any other such path is 404.
func arrive(app core.App, router http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visitor.ReadPorts(app.Settings(), r.Header)
		if id := externalID(r.URL); id != "" {
			r = at(r, url.URL{
				Path:     byExternalID + id,
				RawPath:  byExternalID + strings.ReplaceAll(url.PathEscape(id), ".", "%2E"),
				RawQuery: r.URL.RawQuery,
			})
		} else if prefix := uncleanPrefix(r.URL); prefix != "" {
			r = at(r, url.URL{Path: prefix + "/"}) // matches no route
		}
		router.ServeHTTP(w, r)
	})
}

// at returns the request for another address.
func at(r *http.Request, address url.URL) *http.Request {
	moved := *r
	moved.URL, moved.RequestURI = &address, address.RequestURI()
	return &moved
}

// externalID returns the rest of the escaped path, decoded once, if the path names a contact by its external ID.
// Proxies that strip a prefix from the path also decode its slashes.
func externalID(address *url.URL) string {
	if !strings.Contains(address.Path, "/by-external-id/") {
		return "" // spares most requests the rest
	}
	slashes := strings.Count(byExternalID, "/")
	segments := strings.SplitAfterN(address.EscapedPath(), "/", slashes+1)
	prefix, err := url.PathUnescape(strings.Join(segments[:min(slashes, len(segments))], ""))
	if err != nil || prefix != byExternalID {
		return ""
	}
	return address.Path[len(byExternalID):] // as decoded
}

// uncleanPrefix returns our prefix of a path that is not clean and is below it, before or after cleaning; "" for any
// other. An encoded slash or dot in a segment, such as an external id, is clean.
func uncleanPrefix(address *url.URL) string {
	if address.RawPath == "" && !strings.Contains(address.Path, "//") && !strings.Contains(address.Path, "/.") {
		return "" // spares most requests the rest
	}
	escaped := address.EscapedPath() // what http.ServeMux cleans
	cleaned := path.Clean("/" + escaped)
	isClean := escaped == cleaned || escaped == cleaned+"/"
	if isClean && ours(address.Path) {
		return ""
	}
	prefix := prefixOf(path.Clean("/" + address.Path))
	if prefix == "" && !isClean {
		prefix = prefixOf(address.Path)
	}
	return prefix
}
