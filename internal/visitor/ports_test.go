package visitor_test

import (
	"net/http"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/visitor"
)

// Addresses with a port or in brackets in a trusted header are read as the address.
func TestReadPorts(t *testing.T) {
	t.Parallel()
	for sent, want := range map[string]string{
		"203.0.113.9:40001":                          "203.0.113.9",
		"203.0.113.9":                                "203.0.113.9",
		"[2001:db8::1]:443":                          "2001:db8::1",
		"[2001:db8::1]":                              "2001:db8::1",
		"2001:db8::1":                                "2001:db8::1",
		`"[2001:db8::1]:443"`:                        "2001:db8::1",
		"[::ffff:203.0.113.9]:40001":                 "::ffff:203.0.113.9",
		"203.0.113.9:":                               "203.0.113.9",
		"192.0.2.1, 203.0.113.9:40001":               "192.0.2.1,203.0.113.9",
		"192.0.2.1:1,[2001:db8::1]:2 , 203.0.113.9 ": "192.0.2.1,2001:db8::1,203.0.113.9",
		"unknown":                                    "unknown",
		"unknown:1":                                  "unknown:1",
		"":                                           "",
	} {
		header := http.Header{"X-Forwarded-For": {"192.0.2.7:1", sent}, "X-Other": {sent}}
		visitor.ReadPorts(&core.Settings{}, header)
		if got := header.Values("X-Forwarded-For")[1]; got != sent {
			t.Errorf("a header that is not trusted becomes %q", got)
		}
		settings := &core.Settings{}
		settings.TrustedProxy.Headers = []string{"x-forwarded-for", "X-Real-IP"}
		visitor.ReadPorts(settings, header)
		if got := header.Values("X-Forwarded-For"); got[0] != "192.0.2.7" || got[1] != want {
			t.Errorf("%q becomes %q, not %q", sent, got, want)
		}
		if got := header.Get("X-Other"); got != sent {
			t.Errorf("another header becomes %q", got)
		}
	}
}
