package routes

import (
	"net/http"
	"net/url"
	"path"
	"strings"
)

// refuseUnclean stands in front of the router. http.ServeMux answers a path with doubled slashes or dots by a redirect, in HTML,
// which names the path again and which no middleware sees. Below our prefixes such a path leads nowhere.
func refuseUnclean(router http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if prefix := uncleanBelow(r.URL); prefix != "" {
			nowhere := *r
			nowhere.URL = &url.URL{Path: prefix + "/"} // which no route takes
			nowhere.RequestURI = nowhere.URL.Path
			r = &nowhere
		}
		router.ServeHTTP(w, r)
	})
}

// uncleanBelow returns the prefix of ours that an address is below without being clean, or comes below when it is cleaned, and
// "" for any other address. An encoded slash or dot in a segment, such as an external id's, is clean.
func uncleanBelow(address *url.URL) string {
	if address.RawPath == "" && !strings.Contains(address.Path, "//") && !strings.Contains(address.Path, "/.") {
		return "" // nothing to clean, which spares most requests the rest
	}
	escaped := address.EscapedPath() // which is what http.ServeMux cleans
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
