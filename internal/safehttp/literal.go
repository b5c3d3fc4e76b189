package safehttp

import (
	"net/netip"
	"net/url"
	"strings"
)

// Host returns the host of a URL, without its port; "" where there is none.
func Host(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}

// Refuses reports whether a client with these options refuses the host, as far as that shows without DNS: of addresses
// and of localhost. It is for a word of warning; what counts is the check when it is dialled.
func (o Options) Refuses(host string) bool {
	if name := strings.ToLower(strings.TrimSuffix(host, ".")); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		host = "127.0.0.1"
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return false
	}
	return newGuard(o).checkLiteral(host) != nil
}
