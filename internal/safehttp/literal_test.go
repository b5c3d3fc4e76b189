package safehttp

import (
	"net/netip"
	"testing"
)

func TestRefuses(t *testing.T) {
	t.Parallel()
	listed := Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}
	for _, tc := range []struct {
		address string
		options Options
		want    bool
	}{
		{"https://example.com/hook", Options{}, false},
		{"https://8.8.8.8/hook", Options{}, false},
		{"http://127.0.0.1:9999", Options{}, true},
		{"http://localhost:9999", Options{}, true},
		{"http://[::1]/", Options{}, true},
		{"http://192.168.1.7/hook", Options{}, true},
		{"http://169.254.169.254/", Options{}, true},
		{"http://127.0.0.1:9999", Options{AllowPrivate: true}, false},
		{"http://localhost", Options{AllowPrivate: true}, false},
		{"http://10.1.2.3/", listed, false},
		{"http://10.2.2.3/", listed, true},
		{"no address", Options{}, false},
	} {
		if got := tc.options.Refuses(Host(tc.address)); got != tc.want {
			t.Errorf("%s with %+v: %v", tc.address, tc.options, got)
		}
	}
}
