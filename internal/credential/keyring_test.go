package credential_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

func execute(t *testing.T, app core.App, query string, params dbx.Params) {
	t.Helper()
	if _, err := app.NonconcurrentDB().NewQuery(query).Bind(params).Execute(); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// A keyring sees another process's changes immediately, despite its cache.
func TestKeyringSeesChangesAtOnce(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, change string
		want         error
		tell         func(*credential.Identity) bool
	}{
		{"nothing", "SELECT 1", nil, func(i *credential.Identity) bool { return i.Allows(credential.ContactsWrite) && i.APIEnabled }},
		{"revoked", "UPDATE api_keys SET revoked = '2026-01-01 00:00:00.000Z'", credential.ErrInvalidKey, nil},
		{"expired", "UPDATE api_keys SET expires = '2026-01-01 00:00:00.000Z'", credential.ErrInvalidKey, nil},
		{"deleted", "DELETE FROM api_keys", credential.ErrInvalidKey, nil},
		{"another key", "UPDATE api_keys SET hash = 'x' || hash", credential.ErrInvalidKey, nil},
		{"tenant deleted", "DELETE FROM tenants", credential.ErrInvalidKey, nil},
		{"fewer permissions", `UPDATE api_keys SET permissions = '["contacts:read"]'`, nil, func(i *credential.Identity) bool { return !i.Allows(credential.ContactsWrite) }},
		{"feature off", "UPDATE tenants SET apiEnabled = 0", nil, func(i *credential.Identity) bool { return !i.APIEnabled }},
		{"another limit", "UPDATE tenants SET rateLimit = 7", nil, func(i *credential.Identity) bool { return i.RateLimit == 7 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			key, other := testkit.Key(t, app, testkit.Tenant(t, app, "Acme")), testkit.Key(t, app, testkit.Tenant(t, app, "Other"))
			keyring := credential.NewKeyring()
			t.Cleanup(keyring.Flush)
			before, err := keyring.Look(app, key, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			execute(t, app, tt.change, nil)
			_, _ = keyring.Look(app, other, time.Now()) // it detects that something has changed, but not about the first key
			confirmed, confirmErr := before.Confirm(sqlite.ReaderOf(app), time.Now())
			after, err := keyring.Look(app, key, time.Now())
			if !errors.Is(err, tt.want) || !errors.Is(confirmErr, tt.want) {
				t.Fatalf("looking gives %v and confirming %v, not %v", err, confirmErr, tt.want)
			}
			if tt.tell != nil && (!tt.tell(after) || !tt.tell(confirmed)) {
				t.Errorf("the identity is %+v, confirmed %+v", after, confirmed)
			}
		})
	}
}

// An identity is read once, and confirmed without reading it again, until any credential changes.
func TestKeyringReadsOnce(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	key := testkit.Key(t, app, testkit.Tenant(t, app, "Acme"))
	keyring := credential.NewKeyring()
	t.Cleanup(keyring.Flush)
	look := func() *credential.Identity {
		t.Helper()
		identity, err := keyring.Look(app, key, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return identity
	}
	first := look()
	version, err := credential.Version(app)
	if err != nil || !first.IsOf(version) || first.IsOf(version+1) {
		t.Errorf("the identity is not of version %d (%v)", version, err)
	}
	if confirmed, err := first.Confirm(sqlite.ReaderOf(app), time.Now()); err != nil || confirmed != first || look() != first {
		t.Errorf("without a change, the identity is read again (%v)", err)
	}
	execute(t, app, "UPDATE tenants SET rateLimit = 7", nil)
	if version, err = credential.Version(app); err != nil || first.IsOf(version) {
		t.Errorf("after a change, the version is still %d (%v)", version, err)
	}
	confirmed, err := first.Confirm(sqlite.ReaderOf(app), time.Now())
	if err != nil || confirmed.RateLimit != 7 || !confirmed.IsOf(version) {
		t.Errorf("after a change, the identity is confirmed as %+v (%v)", confirmed, err)
	}
	if second := look(); second.RateLimit != 7 || look() != second {
		t.Errorf("after a change, the identity is %+v, or is read again", second)
	}
}

// Where the database cannot be read, no key is authenticated, and none is called invalid.
func TestUnreadableCredentials(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"_credentialVersion", "api_keys"} {
		app := testkit.NewApp(t)
		key := testkit.Key(t, app, testkit.Tenant(t, app, "Acme"))
		execute(t, app, "PRAGMA foreign_keys = OFF; DROP TABLE "+table, nil)
		if identity, err := credential.NewKeyring().Look(app, key, time.Now()); err == nil || identity != nil || errors.Is(err, credential.ErrInvalidKey) {
			t.Errorf("without %s a key is %+v, %v", table, identity, err)
		}
	}
}

// An identity read under an older version does not replace a newer one.
func TestKeyringForgetsNothingNewer(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	key := testkit.Key(t, app, tenant)
	keyring := credential.NewKeyring()
	t.Cleanup(keyring.Flush)
	err := app.RunInTransaction(func(tx core.App) error { // a reader outside still sees the older version
		execute(t, tx, "UPDATE tenants SET rateLimit = 7 WHERE id = {:id}", dbx.Params{"id": tenant})
		inside, err := keyring.Look(tx, key, time.Now())
		if err != nil {
			return err
		}
		outside, err := keyring.Look(app, key, time.Now())
		if err == nil && (inside.RateLimit != 7 || outside.RateLimit == 7) {
			t.Errorf("the limit is %d inside of the transaction and %d outside", inside.RateLimit, outside.RateLimit)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if identity, err := keyring.Look(app, key, time.Now()); err != nil || identity.RateLimit != 7 {
		t.Errorf("afterwards it is %+v (%v)", identity, err)
	}
}

// The last use of a key is stored once a minute.
func TestLastUsed(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	key := testkit.Key(t, app, testkit.Tenant(t, app, "Acme"))
	keyring := credential.NewKeyring()
	lastUsed := func() (used string) {
		keyring.Flush()
		if err := app.DB().NewQuery("SELECT lastUsed FROM api_keys").Row(&used); err != nil {
			t.Fatal(err)
		}
		return used
	}
	first := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		at   time.Time
		want string
	}{
		{first, "2026-01-01 12:00:00.000Z"},
		{first.Add(59 * time.Second), "2026-01-01 12:00:00.000Z"},
		{first.Add(time.Minute), "2026-01-01 12:01:00.000Z"},
		{first.Add(-time.Hour), "2026-01-01 11:00:00.000Z"}, // the clock was set back
	} {
		if _, err := keyring.Look(app, key, tt.at); err != nil {
			t.Fatal(err)
		}
		if used := lastUsed(); used != tt.want {
			t.Errorf("after a use at %s the last is %s, not %s", tt.at, used, tt.want)
		}
	}
}
