package extension

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/order"
)

// Preview calls run, whose transaction is rolled back. It calls begin with the transaction first. Hooks that run after
// a write, or after a write that failed, do not run for what the transaction writes.
func Preview(app core.App, run func(begin func(tx core.App)) error) error {
	r := of(app)
	r.bindPreviews.Do(func() { r.skipAfter(app) })
	var transaction *core.TxAppInfo
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.previews, transaction)
	}()
	return run(func(tx core.App) {
		transaction = tx.TxInfo()
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.previews == nil {
			r.previews = map[*core.TxAppInfo]map[core.Model]bool{}
		}
		r.previews[transaction] = map[core.Model]bool{}
	})
}

// skipAfter skips the handlers after the writes of previews.
func (r *registry) skipAfter(app core.App) {
	noted := &hook.Handler[*core.ModelEvent]{Priority: order.PreviewsNoted, Func: func(e *core.ModelEvent) error {
		r.mu.Lock()
		if models := r.previews[e.App.TxInfo()]; models != nil {
			models[e.Model] = true
		}
		r.mu.Unlock()
		return e.Next()
	}}
	for _, on := range []func(...string) *hook.TaggedHook[*core.ModelEvent]{
		app.OnModelCreate, app.OnModelUpdate, app.OnModelDelete,
	} {
		handler := *noted
		on().Bind(&handler)
	}
	skip := func(e *core.ModelErrorEvent) error {
		if r.isPreviewed(e.Model) {
			return nil
		}
		return e.Next()
	}
	skipped := &hook.Handler[*core.ModelErrorEvent]{Priority: order.PreviewsNoted, Func: skip}
	for _, on := range []func(...string) *hook.TaggedHook[*core.ModelErrorEvent]{
		app.OnModelAfterCreateError, app.OnModelAfterUpdateError, app.OnModelAfterDeleteError,
	} {
		handler := *skipped
		on().Bind(&handler)
	}
}

func (r *registry) isPreviewed(model core.Model) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	for _, models := range r.previews {
		if models[model] {
			return true
		}
	}
	return false
}
