package safehttp

import (
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// BlockedError is an ErrBlocked with the address that was not dialled.
type BlockedError struct {
	Address string // with the port, unless a proxy is to connect to it
}

// Error implements error.
func (e *BlockedError) Error() string { return "blocked address " + e.Address }

// Is reports whether target is ErrBlocked.
func (e *BlockedError) Is(target error) bool { return target == ErrBlocked }

// guard decides which addresses may be dialled. Without an allow list, those are IPv4 addresses outside IANA's
// special-purpose registry, and IPv6 addresses in 2000::/3 without its special ranges. This covers every IPv6 address
// that embeds an IPv4 address: mapped (::ffff:0:0/96) and NAT64 (64:ff9b::/96, 64:ff9b:1::/48) addresses are not in
// 2000::/3, and 6to4 (2002::/16) and Teredo (2001::/32) are special.
type guard struct {
	guardian *ssrf.Guardian
}

func newGuard(options Options) *guard {
	allow := slices.Clone(options.Allow)
	if options.AllowPrivate {
		allow = append(allow, Private...)
	}
	var v4, v6 []netip.Prefix
	for _, prefix := range allow {
		if prefix.Addr().Is4() {
			v4 = append(v4, prefix)
		} else {
			v6 = append(v6, prefix)
		}
	}
	return &guard{ssrf.New(ssrf.WithAnyPort(), ssrf.WithAllowedV4Prefixes(v4...), ssrf.WithAllowedV6Prefixes(v6...))}
}

// control is the Control of a net.Dialer, which receives the exact address that the next system call connects to.
func (g *guard) control(network, address string, raw syscall.RawConn) error {
	if g.guardian.Safe(network, address, raw) != nil {
		return &BlockedError{Address: address}
	}
	return nil
}

// checkAddress checks an address that a proxy is to connect to, without a port.
func (g *guard) checkAddress(address netip.Addr) error {
	if address = address.Unmap().WithZone(""); g.guardian.SafeAddr(address) != nil {
		return &BlockedError{Address: address.String()}
	}
	return nil
}
