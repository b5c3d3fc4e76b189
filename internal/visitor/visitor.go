// Package visitor tells clients apart by their addresses, and remembers from which addresses accounts have signed in.
package visitor

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"
)

// Of returns the Network of the client. Every limit per address uses it.
func Of(e *core.RequestEvent) string { return Network(e.RealIP()) }

// networkBits is the length of the prefix of IPv6 addresses that providers give to one customer, who then
// has 2^64 addresses.
const networkBits = 64

// Network returns an IPv4 address as it is, also one that is mapped to IPv6, and the first address of the /64 network
// of an IPv6 address.
func Network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	if ip = ip.Unmap().WithZone(""); ip.Is6() {
		ip = netip.PrefixFrom(ip, networkBits).Masked().Addr()
	}
	return ip.String()
}

// ReadPorts removes the port and the brackets of the addresses in the headers that the settings trust, in place: some
// proxies send 203.0.113.9:40001 or [2001:db8::1]:443, which PocketBase does not read. It would then take the address
// of the proxy, or one that the client has sent itself.
func ReadPorts(settings *core.Settings, header http.Header) {
	for _, name := range settings.TrustedProxy.Headers {
		values := header.Values(name)
		for i, value := range values {
			if !strings.ContainsAny(value, ":[") {
				continue
			}
			items := strings.Split(value, ",")
			for j, item := range items {
				items[j] = withoutPort(strings.Trim(item, ` "`))
			}
			values[i] = strings.Join(items, ",")
		}
	}
}

// withoutPort returns the address of one with a port or in brackets, and any other text unchanged.
func withoutPort(text string) string {
	host, _, err := net.SplitHostPort(text)
	if err != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]")
	}
	if _, err := netip.ParseAddr(host); err != nil {
		return text
	}
	return host
}

// isListed reports whether an address is in a list of addresses and networks.
func isListed(list []string, address string) bool {
	ip, err := netip.ParseAddr(address)
	return err == nil && slices.ContainsFunc(list, func(item string) bool {
		if network, err := netip.ParsePrefix(item); err == nil {
			return network.Contains(ip)
		}
		single, err := netip.ParseAddr(item)
		return err == nil && single == ip
	})
}
