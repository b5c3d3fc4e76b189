package inbound_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"contactbase/internal/inbound"
	"contactbase/internal/testkit"
)

// Looking for people in a body, for what names an event and for a handshake is linear, whatever is in the body.
func TestLinear(t *testing.T) { //nolint:paralleltest // it measures the process
	repeat := func(part string) func(n int) []byte {
		return func(n int) []byte { return []byte(strings.Repeat(part, n)) }
	}
	many := func(n int) []byte {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"a%d\\u0040example.com" `, i)
		}
		return []byte(b.String())
	}
	for name, generate := range map[string]func(n int) []byte{
		"people":        many,
		"no names":      repeat("@ "),
		"no ends":       repeat("a@"),
		"long names":    repeat("abcdefghijklmnopqrstuvwxyz"),
		"backslashes":   repeat(`\\\\\\\\`),
		"code points":   repeat(`\u0040\u005cu0040`),
		"forms":         repeat("%5Cu0040%255C"),
		"broken forms":  repeat("%"),
		"marks":         repeat("\ufeff"),
		"quotes, dots":  repeat("'.@.' "),
		"nested arrays": repeat("["),
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Linear(t, generate, func(body []byte) {
				inbound.PeopleIn("tenant", "application/x-www-form-urlencoded", body)
			})
		})
	}
	event := &inbound.Webhook{Verify: inbound.Verification{Scheme: "stripe"}}
	for name, generate := range map[string]func(n int) []byte{
		"equal keys":   func(n int) []byte { return []byte(`{"id":"e"` + strings.Repeat(`,"id":"e"`, n) + `}`) },
		"unequal keys": func(n int) []byte { return fmt.Appendf(nil, `{"id":"e",%s"last":1}`, manyKeys(n)) },
		"nested":       func(n int) []byte { return []byte(`{"id":` + strings.Repeat("[", n)) },
		"escapes":      func(n int) []byte { return []byte(`{"id":"` + strings.Repeat(`\u0040`, n) + `"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			testkit.Linear(t, generate, func(body []byte) {
				event.RepeatOf(http.Header{}, body, nil)
				_, _ = inbound.HandshakeOf(httptest.NewRequest(http.MethodPost, "/", http.NoBody), event, body)
			})
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":{},`, i)
	}
	return b.String()
}
