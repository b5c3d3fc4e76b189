// Package visitor tells clients apart by their addresses, and remembers from which addresses accounts have signed in.
package visitor

import (
	"net/netip"
	"slices"

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
