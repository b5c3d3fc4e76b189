package safehttp

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

func TestGuard(t *testing.T) {
	t.Parallel()
	metadata := []netip.Prefix{netip.MustParsePrefix("169.254.169.254/32")}
	documentation := []netip.Prefix{netip.MustParsePrefix("203.0.113.0/28"), netip.MustParsePrefix("2001:db8:1::/48")}
	for _, c := range []struct {
		what    string
		address string
		options Options
		open    bool
	}{
		{"public", "8.8.8.8", Options{}, true},
		{"public", "2606:4700:4700::1111", Options{}, true},
		{"public, beside private", "172.32.0.1", Options{}, true},
		{"public, beside shared", "100.128.0.1", Options{}, true},
		{"unspecified", "0.0.0.0", Options{}, false},
		{"unspecified", "::", Options{}, false},
		{"this network", "0.1.2.3", Options{}, false},
		{"private", "10.0.0.1", Options{}, false},
		{"private", "172.16.0.1", Options{}, false},
		{"private", "172.31.255.255", Options{}, false},
		{"private", "192.168.1.1", Options{}, false},
		{"shared (carrier NAT)", "100.64.0.1", Options{}, false},
		{"loopback", "127.0.0.1", Options{}, false},
		{"loopback", "127.255.255.254", Options{}, false},
		{"loopback", "::1", Options{}, false},
		{"link-local", "169.254.0.1", Options{}, false},
		{"link-local", "fe80::1", Options{}, false},
		{"link-local with zone", "fe80::1%eth0", Options{}, false},
		{"cloud metadata", "169.254.169.254", Options{}, false},
		{"cloud metadata", "fd00:ec2::254", Options{}, false},
		{"cloud metadata, Alibaba", "100.100.100.200", Options{}, false},
		{"unique local", "fc00::1", Options{}, false},
		{"unique local", "fdff::1", Options{}, false},
		{"site-local", "fec0::1", Options{}, false},
		{"multicast", "224.0.0.1", Options{}, false},
		{"multicast", "239.255.255.255", Options{}, false},
		{"multicast", "ff02::1", Options{}, false},
		{"broadcast", "255.255.255.255", Options{}, false},
		{"reserved", "240.0.0.1", Options{}, false},
		{"protocol assignments", "192.0.0.1", Options{}, false},
		{"documentation", "192.0.2.1", Options{}, false},
		{"documentation", "198.51.100.1", Options{}, false},
		{"documentation", "203.0.113.1", Options{}, false},
		{"documentation", "2001:db8::1", Options{}, false},
		{"documentation", "3fff::1", Options{}, false},
		{"benchmarking", "198.18.0.1", Options{}, false},
		{"6to4 relay", "192.88.99.1", Options{}, false},
		{"mapped loopback", "::ffff:127.0.0.1", Options{}, false},
		{"mapped private", "::ffff:10.0.0.1", Options{}, false},
		{"mapped public", "::ffff:8.8.8.8", Options{}, false},
		{"IPv4-compatible", "::127.0.0.1", Options{}, false},
		{"NAT64 of loopback", "64:ff9b::7f00:1", Options{}, false},
		{"NAT64 of metadata", "64:ff9b::a9fe:a9fe", Options{}, false},
		{"local NAT64 of private", "64:ff9b:1::a00:1", Options{}, false},
		{"6to4 of loopback", "2002:7f00:1::1", Options{}, false},
		{"Teredo", "2001:0:4136:e378:8000:63bf:3fff:fdd2", Options{}, false},
		{"ORCHIDv2", "2001:20::1", Options{}, false},
		{"discard only", "100::1", Options{}, false},

		{"private, opened", "10.0.0.1", Options{AllowPrivate: true}, true},
		{"loopback, opened", "127.0.0.1", Options{AllowPrivate: true}, true},
		{"loopback, opened", "::1", Options{AllowPrivate: true}, true},
		{"unique local, opened", "fd12::1", Options{AllowPrivate: true}, true},
		{"metadata is not private", "169.254.169.254", Options{AllowPrivate: true}, false},
		{"multicast is not private", "224.0.0.1", Options{AllowPrivate: true}, false},
		{"public stays open", "8.8.8.8", Options{AllowPrivate: true}, true},

		{"metadata, allowed", "169.254.169.254", Options{Allow: metadata}, true},
		{"beside the allowed one", "169.254.169.253", Options{Allow: metadata}, false},
		{"another kind than the allowed one", "127.0.0.1", Options{Allow: metadata}, false},
		{"first of an allowed range", "203.0.113.0", Options{Allow: documentation}, true},
		{"last of an allowed range", "203.0.113.15", Options{Allow: documentation}, true},
		{"after an allowed range", "203.0.113.16", Options{Allow: documentation}, false},
		{"an allowed IPv6 range", "2001:db8:1::1", Options{Allow: documentation}, true},
		{"after an allowed IPv6 range", "2001:db8:2::1", Options{Allow: documentation}, false},
		{"an allowed range mapped to IPv6", "::ffff:203.0.113.1", Options{Allow: documentation}, false},
		{"both options", "169.254.169.254", Options{AllowPrivate: true, Allow: metadata}, true},
	} {
		t.Run(c.what+" "+c.address, func(t *testing.T) {
			t.Parallel()
			network := "tcp4"
			if netip.MustParseAddr(c.address).Is6() {
				network = "tcp6"
			}
			for _, port := range []string{"80", "443", "8443", "22"} {
				err := newGuard(c.options).control(network, net.JoinHostPort(c.address, port), nil)
				if c.open && err != nil {
					t.Errorf("port %s: %v", port, err)
				}
				if !c.open && !errors.Is(err, ErrBlocked) {
					t.Errorf("port %s: got %v, want ErrBlocked", port, err)
				}
			}
			addr := netip.MustParseAddr(c.address).WithZone("")
			itself := Options{Allow: []netip.Prefix{netip.PrefixFrom(addr, addr.BitLen())}}
			if err := newGuard(itself).control(network, net.JoinHostPort(addr.String(), "443"), nil); err != nil {
				t.Errorf("refused although the allow list names it: %v", err)
			}
		})
	}
}

func TestGuardLeavesTheCallersListAlone(t *testing.T) {
	t.Parallel()
	backing := []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32"), netip.MustParsePrefix("192.0.2.2/32")}
	newGuard(Options{AllowPrivate: true, Allow: backing[:1]})
	if backing[1] != netip.MustParsePrefix("192.0.2.2/32") {
		t.Errorf("the caller's array was overwritten: %v", backing)
	}
}
