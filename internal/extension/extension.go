// Package extension knows what extensions, in Go or JavaScript, have bound to the program. It imports no
// package that extensions reach into, so that all of them can ask it.
package extension

import (
	"context"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/sqlite"
)

const storeKey = "contactbaseExtension"

// registry is what extensions have registered with an app.
type registry struct {
	mu       sync.RWMutex
	bindings []binding
	script   string // the JavaScript file that is being loaded, "" for none
	held     map[*core.TxAppInfo]*hold

	bindPreviews sync.Once
	previews     map[*core.TxAppInfo]map[core.Model]bool // what each has written
}

// binding is a hook that sees the writes of records.
type binding struct {
	tags  []string // ids or names of collections; none for all of them
	place string   // file and line, or only the file
}

func of(app core.App) *registry {
	found, _ := app.Store().GetOrSet(storeKey, func() any { return &registry{} }).(*registry)
	return found
}

// Bound reports whether an extension has bound a hook that sees writes of the collection's records before they happen.
func Bound(app core.App, collection *core.Collection) bool { return len(Places(app, collection)) > 0 }

// Places returns the files, with the lines where these are known, in which extensions have bound such hooks.
func Places(app core.App, collection *core.Collection) (places []string) {
	r := of(app)
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, b := range r.bindings {
		sees := len(b.tags) == 0 || slices.Contains(b.tags, collection.Id) || slices.Contains(b.tags, collection.Name)
		if sees && !slices.Contains(places, b.place) {
			places = append(places, b.place)
		}
	}
	return places
}

// Load calls load, which binds the hooks of a JavaScript file.
func Load(app core.App, file string, load func() error) error {
	r := of(app)
	r.setScript(file)
	defer r.setScript("")
	return load()
}

func (r *registry) setScript(file string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.script = file
}

// Record returns the app as extensions receive it: it remembers which hooks they bind before writes of records.
func Record(app core.App) core.App { return recorder{app} }

type recorder struct{ core.App }

// Unwrap returns the app that extensions receive through this one.
func (r recorder) Unwrap() core.App { return r.App }

// RunInTransaction implements core.App. A transaction that takes long is reported with the place of the caller.
func (r recorder) RunInTransaction(do func(tx core.App) error) error {
	return Transact(r.App, callerOf(2), do)
}

// Transact is PocketBase's RunInTransaction for an extension at a place, and reports it if it takes long.
func Transact(app core.App, place string, do func(tx core.App) error) error {
	return sqlite.Transact(context.Background(), app, "", false, func(tx core.App) error {
		defer Hold(tx, []string{place})()
		return do(tx)
	})
}

// record remembers a hook for these tags, which the caller of the caller binds.
func (r recorder) record(tags []string) {
	found := of(r.App)
	found.mu.Lock()
	defer found.mu.Unlock()
	place := found.script
	if place == "" {
		place = callerOf(4)
	}
	found.bindings = append(found.bindings, binding{tags, place})
}

// callerOf returns the file and line of a caller, as of runtime.Caller.
func callerOf(skip int) string {
	_, file, line, _ := runtime.Caller(skip)
	return filepath.Base(file) + ":" + strconv.Itoa(line)
}

// bind records a hook, then returns it.
func bind[E hook.Tagger](r recorder, on func(...string) *hook.TaggedHook[E], tags []string) *hook.TaggedHook[E] {
	r.record(tags)
	return on(tags...)
}

type (
	recordHook = *hook.TaggedHook[*core.RecordEvent]
	modelHook  = *hook.TaggedHook[*core.ModelEvent]
)

// The hooks before writes.

func (r recorder) OnRecordValidate(tags ...string) recordHook {
	return bind(r, r.App.OnRecordValidate, tags)
}

func (r recorder) OnRecordCreate(tags ...string) recordHook {
	return bind(r, r.App.OnRecordCreate, tags)
}

func (r recorder) OnRecordCreateExecute(tags ...string) recordHook {
	return bind(r, r.App.OnRecordCreateExecute, tags)
}

func (r recorder) OnRecordUpdate(tags ...string) recordHook {
	return bind(r, r.App.OnRecordUpdate, tags)
}

func (r recorder) OnRecordUpdateExecute(tags ...string) recordHook {
	return bind(r, r.App.OnRecordUpdateExecute, tags)
}

func (r recorder) OnRecordDelete(tags ...string) recordHook {
	return bind(r, r.App.OnRecordDelete, tags)
}

func (r recorder) OnRecordDeleteExecute(tags ...string) recordHook {
	return bind(r, r.App.OnRecordDeleteExecute, tags)
}

func (r recorder) OnModelValidate(tags ...string) modelHook {
	return bind(r, r.App.OnModelValidate, tags)
}

func (r recorder) OnModelCreate(tags ...string) modelHook { return bind(r, r.App.OnModelCreate, tags) }

func (r recorder) OnModelCreateExecute(tags ...string) modelHook {
	return bind(r, r.App.OnModelCreateExecute, tags)
}

func (r recorder) OnModelUpdate(tags ...string) modelHook { return bind(r, r.App.OnModelUpdate, tags) }

func (r recorder) OnModelUpdateExecute(tags ...string) modelHook {
	return bind(r, r.App.OnModelUpdateExecute, tags)
}

func (r recorder) OnModelDelete(tags ...string) modelHook { return bind(r, r.App.OnModelDelete, tags) }

func (r recorder) OnModelDeleteExecute(tags ...string) modelHook {
	return bind(r, r.App.OnModelDeleteExecute, tags)
}
