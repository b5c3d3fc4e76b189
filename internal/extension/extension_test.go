package extension_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/extension"
	"contactbase/internal/testkit"
)

func newApp(t *testing.T) core.App {
	t.Helper()
	return core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir()})
}

// Each hook before writes is remembered by its tags, with the place that binds it, and no other hook is.
func TestBindings(t *testing.T) {
	t.Parallel()
	contacts := core.NewBaseCollection("contacts", "contacts0000000")
	for name, bind := range map[string]func(app core.App){
		"OnRecordValidate":      func(app core.App) { app.OnRecordValidate("contacts") },
		"OnRecordCreate":        func(app core.App) { app.OnRecordCreate("orders", "contacts") },
		"OnRecordCreateExecute": func(app core.App) { app.OnRecordCreateExecute(contacts.Id) },
		"OnRecordUpdate":        func(app core.App) { app.OnRecordUpdate() },
		"OnRecordUpdateExecute": func(app core.App) { app.OnRecordUpdateExecute("contacts") },
		"OnRecordDelete":        func(app core.App) { app.OnRecordDelete("contacts") },
		"OnRecordDeleteExecute": func(app core.App) { app.OnRecordDeleteExecute("contacts") },
		"OnModelValidate":       func(app core.App) { app.OnModelValidate("contacts") },
		"OnModelCreate":         func(app core.App) { app.OnModelCreate("contacts") },
		"OnModelCreateExecute":  func(app core.App) { app.OnModelCreateExecute("contacts") },
		"OnModelUpdate":         func(app core.App) { app.OnModelUpdate("contacts") },
		"OnModelUpdateExecute":  func(app core.App) { app.OnModelUpdateExecute("contacts") },
		"OnModelDelete":         func(app core.App) { app.OnModelDelete("contacts") },
		"OnModelDeleteExecute":  func(app core.App) { app.OnModelDeleteExecute("contacts") },
	} {
		app := newApp(t)
		bind(extension.Record(app))
		if places := extension.Places(app, contacts); len(places) != 1 || !strings.HasPrefix(places[0], "extension_test.go:") {
			t.Errorf("%s of contacts is bound in %q", name, places)
		}
	}
	app := newApp(t)
	extended := extension.Record(app)
	extended.OnRecordCreate("orders")
	extended.OnRecordAfterCreateSuccess("contacts")
	extended.OnRecordCreateRequest("contacts")
	extended.OnRecordEnrich("contacts")
	app.OnRecordCreate("contacts") // not by an extension
	if extension.Bound(app, contacts) {
		t.Errorf("hooks of contacts are bound in %q", extension.Places(app, contacts))
	}
}

// The file that is loaded is the place of what it binds.
func TestPlaceOfScripts(t *testing.T) {
	t.Parallel()
	app := newApp(t)
	failure := errors.New("broken")
	err := extension.Load(app, "rules.pb.js", func() error {
		extension.Record(app).OnRecordCreate("contacts")
		return failure
	})
	places := extension.Places(app, core.NewBaseCollection("contacts"))
	if !errors.Is(err, failure) || len(places) != 1 || places[0] != "rules.pb.js" {
		t.Errorf("loading returns %v, and hooks are bound in %q", err, places)
	}
}

// A hook that holds the writer lock for long is reported until it has ended.
func TestLongHook(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		app := core.NewBaseApp(core.BaseAppConfig{DataDir: folder})
		short := extension.Hold(app, []string{"short.go:1"})
		release := extension.Hold(app, []string{"rules.go:7", "more.go:8"})
		time.Sleep(extension.Longest / 2) // of the bubble's time
		short()
		if err := extension.Working(app); err != nil {
			t.Error(err)
		}
		time.Sleep(extension.Longest)
		synctest.Wait()
		if err := extension.Working(app); err == nil || !strings.Contains(err.Error(), "rules.go:7, more.go:8 has held the writer lock for 8s") {
			t.Errorf("while a hook runs: %v", err)
		}
		release()
		if err := extension.Working(app); err != nil {
			t.Errorf("when it has ended: %v", err)
		}
	})
}

// A transaction that an extension begins with its app is reported by the place that begins it.
func TestLongTransaction(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	err := extension.Record(app).RunInTransaction(func(core.App) error {
		testkit.Eventually(t, "the transaction is named", func() bool {
			err := extension.Working(app)
			return err != nil && strings.Contains(err.Error(), "the extension extension_test.go:")
		})
		return nil
	})
	if err = errors.Join(err, extension.Working(app)); err != nil {
		t.Error(err)
	}
}
