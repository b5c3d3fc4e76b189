package safehttp

import (
	"net/netip"
	"net/url"
	"strings"
)

// Host returns the host of a URL without the port, or "" if it has none.
func Host(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}

// Refuses reports whether a client with these options refuses a host that is an IP address or localhost. It does not use DNS, and is only for
// warnings: the client checks each address when it dials.
func (o Options) Refuses(host string) bool {
	if name := strings.ToLower(strings.TrimSuffix(host, ".")); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		host = "127.0.0.1"
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && newGuard(o).guardian.SafeAddr(addr.Unmap()) != nil
}
