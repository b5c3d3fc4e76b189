package routes

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// refuseUnclean runs before the router. http.ServeMux answers a path with doubled slashes or dots with an HTML
// redirect that no middleware sees. Below our prefixes, such a path is 404.
func refuseUnclean(router http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if prefix := uncleanPrefix(r.URL); prefix != "" {
			nowhere := *r
			nowhere.URL = &url.URL{Path: prefix + "/"} // matches no route
			nowhere.RequestURI = nowhere.URL.Path
			r = &nowhere
		}
		router.ServeHTTP(w, r)
	})
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
