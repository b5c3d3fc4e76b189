package secret_test

import (
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/secret"
)

// keyEnv is the name of an environment variable with an encryption key. The app is not bootstrapped: only its
// configuration is used.
const keyEnv = "CONTACTBASE_TEST_KEY"

func TestSeal(t *testing.T) { //nolint:paralleltest // sets the environment
	t.Setenv(keyEnv, strings.Repeat("k", 32))
	t.Setenv(keyEnv+"_OTHER", strings.Repeat("o", 32))
	t.Setenv(keyEnv+"_SHORT", "short")
	open := core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir()})
	sealing := core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir(), EncryptionEnv: keyEnv})
	other := core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir(), EncryptionEnv: keyEnv + "_OTHER"})
	short := core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir(), EncryptionEnv: keyEnv + "_SHORT"})

	for _, plain := range []string{secret.New(), "a typed secret", "enc:typed", "plain:typed", "enc:", "ünïcödé"} {
		for _, app := range []core.App{open, sealing} {
			stored, err := secret.Seal(app, plain)
			if err != nil {
				t.Fatal(err)
			}
			if app == sealing && strings.Contains(strings.TrimPrefix(stored, "enc:"), plain) {
				t.Errorf("%q is stored as %q", plain, stored)
			}
			// a secret that was stored without a key also opens with one
			for _, reader := range []core.App{app, sealing} {
				if got, err := secret.Open(reader, stored); err != nil || got != plain {
					t.Errorf("%q opened as %q, %v", plain, got, err)
				}
			}
		}
	}

	sealed, err := secret.Seal(sealing, "a typed secret")
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		app    core.App
		stored string
	}{
		"no key":       {open, sealed},
		"another key":  {other, sealed},
		"cut off":      {sealing, sealed[:20]},
		"nothing left": {sealing, "enc:"},
		"damaged":      {sealing, sealed[:len(sealed)-8] + "AAAAAAA="},
	} {
		if got, err := secret.Open(c.app, c.stored); err == nil || got != "" {
			t.Errorf("%s: got %q, %v", what, got, err)
		}
	}
	if _, err := secret.Seal(short, "a typed secret"); err == nil {
		t.Error("a key of 5 characters was accepted")
	}
}
