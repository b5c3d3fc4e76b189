package safehttp

import (
	"net/netip"
	"slices"
	"syscall"

	"code.dny.dev/ssrf"
)

// BlockedError says which address was not dialled. It is an ErrBlocked.
type BlockedError struct {
	Address string // as it would have been dialled, with the port where there is one
}

// Error words the refusal.
func (e *BlockedError) Error() string { return "blocked address " + e.Address }

// Is makes it an ErrBlocked.
func (e *BlockedError) Is(target error) bool { return target == ErrBlocked }

// guard decides which addresses may be dialled. Without an allow list those are IPv4 addresses outside of IANA's
// special-purpose registry and IPv6 addresses inside of 2000::/3 without its special parts. So it needs no list of
// the ways to wrap an IPv4 address into an IPv6 one: mapped (::ffff:0:0/96) and NAT64 (64:ff9b::/96, 64:ff9b:1::/48)
// addresses lie outside, 6to4 (2002::/16) and Teredo (2001::/32) are special.
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

// control is a net.Dialer's Control: it sees the very address that the next system call connects to.
func (g *guard) control(network, address string, raw syscall.RawConn) error {
	if g.guardian.Safe(network, address, raw) != nil {
		return &BlockedError{Address: address}
	}
	return nil
}

// checkLiteral checks a host that is an address already; nothing is known about a name.
func (g *guard) checkLiteral(host string) error {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return nil //nolint:nilerr // a name, which the proxy resolves
	}
	if g.guardian.SafeAddr(addr.Unmap()) != nil {
		return &BlockedError{Address: host}
	}
	return nil
}
