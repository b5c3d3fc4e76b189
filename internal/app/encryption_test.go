package app_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/app"
	"contactbase/internal/secret"
	"contactbase/internal/testkit"
)

// The environment variables with the encryption keys of these tests.
const firstKey, secondKey = "CONTACTBASE_TEST_FIRST_KEY", "CONTACTBASE_TEST_SECOND_KEY"

// reopen opens the data directory with the key in the variable, "" for none.
func reopen(t *testing.T, folder, variable string) (core.App, error) {
	t.Helper()
	base := newBase(folder, variable)
	app.New(base, app.Config{})
	err := base.Bootstrap()
	t.Cleanup(func() { _ = base.ResetBootstrapState() })
	return base, err
}

// stored returns the settings and all secrets as the database has them.
func stored(t *testing.T, app core.App) (settings string, secrets []string) {
	t.Helper()
	if err := app.DB().NewQuery("SELECT value FROM _params WHERE id = 'settings'").Row(&settings); err != nil {
		t.Fatal(err)
	}
	query := "SELECT secret FROM webhooks UNION ALL SELECT previousSecret FROM webhooks UNION ALL SELECT olderSecrets FROM webhooks UNION ALL SELECT sealedHeaders FROM webhooks UNION ALL SELECT verifySecret FROM inbound_webhooks"
	if err := app.DB().NewQuery(query).Column(&secrets); err != nil {
		t.Fatal(err)
	}
	return settings, secrets
}

// withSecrets returns a data directory without a key that has a secret of each kind, and these secrets.
func withSecrets(t *testing.T) (folder string, secrets []string) {
	t.Helper()
	a := open(t, app.Config{})
	tenant := testkit.Tenant(t, a, "Acme")
	testkit.Webhook(t, a, tenant, "https://example.com", "the present secret")
	testkit.Execute(t, a, "UPDATE webhooks SET previousSecret = 'the former secret', olderSecrets = 'those before it', sealedHeaders = 'the headers'", nil)
	testkit.Inbound(t, a, tenant, "upsert", map[string]any{"verifySecret": "the sender's secret"})
	settings, secrets := stored(t, a)
	if !json.Valid([]byte(settings)) || strings.Join(secrets, "; ") != "the present secret; the former secret; those before it; the headers; the sender's secret" {
		t.Fatalf("stored are %s and %q", settings, secrets)
	}
	return a.DataDir(), secrets
}

// The first start with a key encrypts everything; the second changes nothing.
func TestFirstStartWithAKeySeals(t *testing.T) {
	t.Parallel()
	folder, plain := withSecrets(t)
	var before []string
	for range 2 {
		a, err := reopen(t, folder, firstKey)
		if err != nil {
			t.Fatal(err)
		}
		if err := serve(t, a); err != nil {
			t.Fatal(err)
		}
		settings, sealed := stored(t, a)
		if json.Valid([]byte(settings)) {
			t.Errorf("the settings are in clear: %s", settings)
		}
		for i, kept := range sealed {
			if opened, err := secret.Open(a, kept); !secret.IsSealed(kept) || opened != plain[i] || err != nil {
				t.Errorf("%q is kept as %q and opens as %q, %v", plain[i], kept, opened, err)
			}
		}
		sealed = append(sealed, settings)
		if before != nil && strings.Join(before, " ") != strings.Join(sealed, " ") {
			t.Error("the second start writes again what the first one sealed")
		}
		before = sealed
	}
}

// An encrypted data directory is refused without its key, with advice.
func TestSealedFolderNeedsItsKey(t *testing.T) {
	t.Parallel()
	folder, _ := withSecrets(t)
	a, err := reopen(t, folder, firstKey)
	if err != nil {
		t.Fatal(err)
	}
	if err := serve(t, a); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"":        "the settings in " + folder + " cannot be read without the encryption key: name its environment variable with --encryptionEnv",
		secondKey: "--encryptionEnv: the key in " + secondKey + " does not decrypt the settings in " + folder,
	}
	for variable, said := range want {
		if _, err := reopen(t, folder, variable); err == nil || !strings.HasPrefix(err.Error(), said) {
			t.Errorf("with the key in %q opening says %v", variable, err)
		}
	}
	// plain settings, as after a restore or a manual change
	testkit.Execute(t, a, "UPDATE _params SET value = '{}' WHERE id = 'settings'", nil)
	for variable, said := range want {
		b, err := reopen(t, folder, variable)
		if err != nil {
			t.Fatal(err)
		}
		said = strings.Replace(said, "the settings", "a secret of inbound_webhooks", 1)
		if err := serve(t, b); err == nil || !strings.HasPrefix(err.Error(), said) {
			t.Errorf("with the key in %q serving says %v", variable, err)
		}
	}
}

// Other errors while opening a data directory are not mistaken for a wrong key.
func TestOtherErrorsAreNotAWrongKey(t *testing.T) {
	t.Parallel()
	base := newBase(t.TempDir(), "")
	app.New(base, app.Config{})
	other := errors.New("something else")
	base.OnBootstrap().BindFunc(func(e *core.BootstrapEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		return other
	})
	t.Cleanup(func() { _ = base.ResetBootstrapState() })
	if err := base.Bootstrap(); !errors.Is(err, other) || err.Error() != other.Error() {
		t.Errorf("opening says %v", err)
	}
}
