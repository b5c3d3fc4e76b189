package cli

import (
	"embed"
	"os"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/extension"
)

// The program's own transactions do not go through the app that extensions receive, whose transactions belong to no
// tenant: tenants would not take turns.
func TestOwnTransactionsHaveTheirTenants(t *testing.T) {
	for _, variable := range os.Environ() { // such as those of tests, which are no settings
		if name, value, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "CONTACTBASE_") {
			t.Setenv(name, value) // restored at the end
			if err := os.Unsetenv(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	program, err := New("dev", embed.FS{}, []string{"serve", "--dir", t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	own, ok := program.app.App.(*pocketbase.PocketBase)
	if !ok {
		t.Fatalf("the program works with a %T", program.app.App)
	}
	isRecorded := func(app core.App) bool {
		_, ok := app.(interface{ Unwrap() core.App })
		return ok
	}
	if isRecorded(own.App) || !isRecorded(program.Base.App) {
		t.Error("the program works with the app of extensions, or extensions with that of the program")
	}
	// PocketBase's routes bind hooks, which would count as an extension's: each contact would be saved as a record
	if _, err := apis.NewRouter(own); err != nil {
		t.Fatal(err)
	}
	if contacts := core.NewBaseCollection("contacts"); extension.Bound(own, contacts) {
		t.Errorf("without an extension, hooks of contacts are bound in %q", extension.Places(own, contacts))
	}
}
