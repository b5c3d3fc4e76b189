package address

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/pocketbase/pocketbase/core"
)

const (
	example = "http://localhost:8090" // PocketBase's default of Application URL

	// storedKey is where the app keeps the address that Store has entered.
	storedKey = "contactbaseStoredAddress"
)

// Base returns the URL below which the caller of a request reaches the program, without a slash at its end: the
// Application URL if an admin has entered it, else what the request says. Proxies are believed about it only where the
// settings name headers of theirs.
func Base(e *core.RequestEvent) string {
	settings, request := e.App.Settings(), e.Request
	if entered := strings.TrimRight(settings.Meta.AppURL, "/"); isEntered(e.App, entered) {
		return entered
	}
	scheme, host := "http", request.Host
	if request.TLS != nil {
		scheme = "https"
	}
	if len(settings.TrustedProxy.Headers) > 0 {
		if sent := last(request.Header, "X-Forwarded-Proto"); sent == "http" || sent == "https" {
			scheme = sent
		}
		if sent := last(request.Header, "X-Forwarded-Host"); isHost(sent) {
			host = sent
		}
	}
	if !isHost(host) { // a request of HTTP/1.0 may have none
		return strings.TrimRight(settings.Meta.AppURL, "/")
	}
	return scheme + "://" + host
}

// isEntered reports whether an admin has entered the address.
func isEntered(app core.App, address string) bool {
	parsed, err := url.Parse(address)
	return err == nil && (parsed.Scheme == "http" || parsed.Scheme == "https") && parsed.Host != "" &&
		address != example && address != app.Store().Get(storedKey)
}

// last returns the last value of a header, which the nearest proxy has set or appended.
func last(header http.Header, name string) string {
	values := strings.Split(strings.Join(header.Values(name), ","), ",")
	return strings.ToLower(strings.TrimSpace(values[len(values)-1]))
}

var hostPattern = regexp.MustCompile(`^([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// isHost reports whether the text is a host with or without a port, and nothing else that a URL would change by.
func isHost(text string) bool { return len(text) <= 261 && hostPattern.MatchString(text) }
