package cmd

import (
	"net"
	"testing"

	"contactbase/internal/testkit"
)

func TestServedAddress(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		served served
		addr   string
		want   string
	}{
		{served{flag: "--http"}, "127.0.0.1:18090", "http://127.0.0.1:18090"},
		{served{flag: "--http"}, "127.0.0.1:80", "http://127.0.0.1"},
		{served{flag: "--http"}, "[::]:8090", "http://127.0.0.1:8090"},
		{served{flag: "--http"}, "0.0.0.0:8090", "http://127.0.0.1:8090"},
		{served{flag: "--http"}, "192.168.1.7:8090", "http://192.168.1.7:8090"},
		{served{flag: "--http"}, "[::1]:80", "http://[::1]"},
		{served{flag: "--https"}, "0.0.0.0:8443", "https://127.0.0.1:8443"},
		{served{flag: "--https", domain: "crm.example.com"}, "0.0.0.0:443", "https://crm.example.com"},
	} {
		listening, err := net.ResolveTCPAddr("tcp", tc.addr)
		if err != nil {
			t.Fatal(err)
		}
		if got := tc.served.address(listening); got != tc.want {
			t.Errorf("%+v on %s is reached at %s, not %s", tc.served, tc.addr, got, tc.want)
		}
	}
}

// The setting follows the served address until someone enters another.
func TestKeepAppURL(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	for _, tc := range []struct{ stored, served, want string }{
		{"http://localhost:8090", "http://127.0.0.1:18090", "http://127.0.0.1:18090"},
		{"http://127.0.0.1:18090", "https://crm.example.com", "https://crm.example.com"},
		{"https://crm.example.com", "http://127.0.0.1:8090", "https://crm.example.com"},
		{"http://192.168.1.7:8090", "http://127.0.0.1:8090", "http://192.168.1.7:8090"},
	} {
		app.Settings().Meta.AppURL = tc.stored
		if err := app.Save(app.Settings()); err != nil {
			t.Fatal(err)
		}
		if err := keepAppURL(app, tc.served); err != nil {
			t.Fatal(err)
		}
		if err := app.ReloadSettings(); err != nil {
			t.Fatal(err)
		}
		if got := app.Settings().Meta.AppURL; got != tc.want {
			t.Errorf("%s, served at %s, becomes %s", tc.stored, tc.served, got)
		}
	}
}

// healthcheck reaches a server that listens on the same address.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"0.0.0.0:8090":      "http://127.0.0.1:8090",
		":8090":             "http://127.0.0.1:8090",
		"[::]:8090":         "http://127.0.0.1:8090",
		"[::1]:8090":        "http://[::1]:8090",
		"192.168.1.7:18090": "http://192.168.1.7:18090",
	} {
		if got, err := baseURL(address); got != want || err != nil {
			t.Errorf("%s is asked at %s, %v", address, got, err)
		}
	}
	if _, err := baseURL("8090"); err == nil {
		t.Error("an address without a host is taken")
	}
}
