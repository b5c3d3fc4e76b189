package address_test

import (
	"net"
	"testing"

	"github.com/pocketbase/pocketbase/tests"

	"contactbase/internal/address"
)

func TestOf(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		https                 bool
		domain, listens, want string
	}{
		{false, "", "127.0.0.1:18090", "http://127.0.0.1:18090"},
		{false, "", "127.0.0.1:80", "http://127.0.0.1"},
		{false, "", "[::]:8090", "http://127.0.0.1:8090"},
		{false, "", "0.0.0.0:8090", "http://127.0.0.1:8090"},
		{false, "", "192.168.1.7:8090", "http://192.168.1.7:8090"},
		{false, "", "[::1]:80", "http://[::1]"},
		{true, "", "0.0.0.0:8443", "https://127.0.0.1:8443"},
		{true, "crm.example.com", "0.0.0.0:443", "https://crm.example.com"},
	} {
		listening, err := net.ResolveTCPAddr("tcp", tc.listens)
		if err != nil {
			t.Fatal(err)
		}
		if got := address.Of(listening, tc.https, tc.domain); got != tc.want {
			t.Errorf("%+v is reached at %s", tc, got)
		}
	}
}

// The setting follows the served address until someone enters another.
func TestStore(t *testing.T) {
	t.Parallel()
	app, err := tests.NewTestApp(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(app.Cleanup)
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
		if err := address.Store(app, tc.served); err != nil {
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
func TestLocal(t *testing.T) {
	t.Parallel()
	for listens, want := range map[string]string{
		"0.0.0.0:8090":      "http://127.0.0.1:8090",
		":8090":             "http://127.0.0.1:8090",
		"[::]:8090":         "http://127.0.0.1:8090",
		"[::1]:8090":        "http://[::1]:8090",
		"192.168.1.7:18090": "http://192.168.1.7:18090",
	} {
		if got, err := address.Local(listens); got != want || err != nil {
			t.Errorf("%s is asked at %s, %v", listens, got, err)
		}
	}
	if _, err := address.Local("8090"); err == nil {
		t.Error("an address without a host is taken")
	}
}
