package imports_test

import (
	"errors"
	"testing"

	"contactbase/internal/contact/imports"
	"contactbase/internal/testkit"
)

// A check that is overtaken stores nothing: neither of an import that begins, or is cancelled, nor of another check.
func TestCheckIsOvertaken(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	nameless := []string{"", "email"}
	for what, overtake := range map[string]func(id string) error{
		"a start":        func(id string) error { return start(app, id, nameless, "email") },
		"a cancellation": func(id string) error { return imports.Cancel(t.Context(), app, id) },
		"another check":  func(id string) error { return check(app, id, nameless, "email") },
	} {
		stored := store(t, app, acme, "name,email\nAda,nonsense@\n")
		begin(t, app, stored, "email", check)
		err := imports.CheckMeanwhile(app, stored.ID, func() {
			if err := overtake(stored.ID); err != nil {
				t.Fatal(err)
			}
		})
		if !errors.Is(err, imports.ErrMoved) {
			t.Errorf("overtaken by %s, a check continues: %v", what, err)
		}
		if now := find(t, app, stored.ID); now.Position != 0 || len(now.Refusals) != 0 || now.Counts != (imports.Counts{}) {
			t.Errorf("a check that %s has overtaken leaves %+v", what, now)
		}
	}
}
