package safehttp

import (
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url   string
		fault string // a part of it; "" for none
	}{
		{"https://example.com/hook", ""},
		{"http://example.com", ""},
		{"HTTPS://EXAMPLE.COM/hook?token=a%20b#part", ""},
		{"https://example.com:8443/hook", ""},
		{"https://bücher.example/hook", ""},
		{"https://example.com./hook", ""},
		{"https://hook_1.example.com/", ""},
		{"http://localhost:8080/", ""}, // dialling decides
		{"http://192.0.2.1/", ""},
		{"http://[2001:db8::1]:8080/", ""},
		{"https://example.com/" + strings.Repeat("ä", 2048-len("https://example.com/")), ""},

		{"", "must begin with https://"},
		{"example.com/hook", "must begin with https://"},
		{"//example.com/hook", "must begin with https://"},
		{"ftp://example.com/hook", "must begin with https://"},
		{"javascript:alert(1)", "must begin with https://"},
		{"file:///etc/passwd", "must begin with https://"},
		{"https:///hook", "must name a host"},
		{"https://:8080/hook", "must name a host"},
		{"https://user:password@example.com/", "username"},
		{"https://user@example.com/", "username"},
		{"https://example.com:/hook", "colon"},
		{"https://example.com:0/hook", "port"},
		{"https://example.com:65536/hook", "port"},
		{"https://example.com:port/hook", "malformed"},
		{"https://exa mple.com/hook", "malformed"},
		{"https://example.com/\x00", "malformed"},
		{"https://[::1/hook", "malformed"},
		{" https://example.com/", "whitespace"},
		{"https://example.com/\n", "whitespace"},
		{"https://example.com/" + strings.Repeat("a", 2049-len("https://example.com/")), "2048"},

		{"http://2130706433/", "unusual notation"},
		{"http://0x7f000001/", "unusual notation"},
		{"http://0X7F.0.0.1/", "unusual notation"},
		{"http://127.1/", "unusual notation"},
		{"http://127.0.0.1./", "unusual notation"},
		{"http://0177.0.0.1/", "unusual notation"},
		{"http://127.0.0.0x1/", "unusual notation"},
		{"http://256.0.0.1/", "unusual notation"},
	} {
		t.Run(c.url, func(t *testing.T) {
			t.Parallel()
			err := CheckURL(c.url)
			switch {
			case c.fault == "" && err != nil:
				t.Errorf("unexpected fault: %v", err)
			case c.fault != "" && err == nil:
				t.Error("was accepted")
			case c.fault != "" && !strings.Contains(err.Error(), c.fault):
				t.Errorf("got %q, want %q in it", err, c.fault)
			}
		})
	}
}

func TestCheckURLDoesNotRepeatWhatMayBeSecret(t *testing.T) {
	t.Parallel()
	err := CheckURL("https://example.com:x/hook?token=hunter2")
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}
