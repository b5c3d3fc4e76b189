package secret_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"contactbase/internal/secret"
)

func TestNew(t *testing.T) {
	t.Parallel()
	plain := secret.New()
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(plain, "whsec_"))
	if err != nil || len(key) != 32 || !strings.HasPrefix(plain, "whsec_") {
		t.Errorf("got %q", plain)
	}
	if plain == secret.New() {
		t.Error("got the same secret twice")
	}
}

// A secret with the prefix but without valid base64 is its own key: otherwise no receiver could verify its signatures.
func TestStandardKey(t *testing.T) {
	t.Parallel()
	for plain, want := range map[string]string{"whsec_AAEC": "\x00\x01\x02", "whsec_": "whsec_", "whsec_my secret": "whsec_my secret", "plain": "plain"} {
		if got := string(secret.StandardKey(plain)); got != want {
			t.Errorf("%q: got %q, want %q", plain, got, want)
		}
	}
}

// A generated secret shows its beginning; one that somebody has typed shows nothing.
func TestShown(t *testing.T) {
	t.Parallel()
	if plain := secret.New(); secret.Shown(plain) != plain[:10] {
		t.Errorf("%s shows %q", plain, secret.Shown(plain))
	}
	for _, typed := range []string{"", "whsec_", "whsec_short", "my secret, which has the length of a generated one"} {
		if shown := secret.Shown(typed); shown != "" {
			t.Errorf("%q shows %q", typed, shown)
		}
	}
}
