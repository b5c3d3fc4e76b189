package audit

import (
	"context"
	"database/sql"
	"errors"

	"github.com/pocketbase/pocketbase/core"
)

// acting is an app that acts for someone. PocketBase passes no context from a request to the hooks of a record. This
// app does: its writes have a context with the actor, also in its transactions.
type acting struct {
	core.App
	actor Actor
}

// As returns an app whose writes are those of the actor.
func As(app core.App, actor Actor) core.App {
	if a, ok := app.(*acting); ok {
		app = a.App
	}
	return &acting{app, actor}
}

type contextKey struct{}

// ActorIn returns the actor of a record's event from its context. It is the zero value if the write has none.
func ActorIn(ctx context.Context) Actor {
	actor, _ := ctx.Value(contextKey{}).(Actor)
	return actor
}

// Acting returns the actor of an app, also of one that wraps an app of As.
func Acting(app core.App) Actor {
	switch a := app.(type) {
	case *acting:
		return a.actor
	case interface{ Unwrap() core.App }:
		return Acting(a.Unwrap())
	default:
		return Actor{Kind: System}
	}
}

// in returns a context with the actor, unless an app that wraps this one has added another.
func (a *acting) in(ctx context.Context) context.Context {
	if ActorIn(ctx) != (Actor{}) {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, a.actor)
}

// RunInTransaction implements core.App.
func (a *acting) RunInTransaction(do func(tx core.App) error) error {
	return a.App.RunInTransaction(func(tx core.App) error { return do(&acting{tx, a.actor}) })
}

// Save implements core.App.
func (a *acting) Save(model core.Model) error {
	return a.SaveWithContext(context.Background(), model)
}

// SaveWithContext implements core.App.
func (a *acting) SaveWithContext(ctx context.Context, model core.Model) error {
	return a.App.SaveWithContext(a.in(ctx), model)
}

// SaveNoValidate implements core.App.
func (a *acting) SaveNoValidate(model core.Model) error {
	return a.SaveNoValidateWithContext(context.Background(), model)
}

// SaveNoValidateWithContext implements core.App.
func (a *acting) SaveNoValidateWithContext(ctx context.Context, model core.Model) error {
	return a.App.SaveNoValidateWithContext(a.in(ctx), model)
}

// Delete implements core.App.
func (a *acting) Delete(model core.Model) error {
	return a.DeleteWithContext(context.Background(), model)
}

// DeleteWithContext implements core.App.
func (a *acting) DeleteWithContext(ctx context.Context, model core.Model) error {
	return a.App.DeleteWithContext(a.in(ctx), model)
}

// truncatedPage is how many records TruncateCollection reads at a time, like PocketBase.
const truncatedPage = 500

// TruncateCollection implements core.App as PocketBase does, which would delete the records without a context.
func (a *acting) TruncateCollection(collection *core.Collection) error {
	return a.RunInTransaction(func(tx core.App) error {
		for {
			var records []*core.Record
			if err := tx.RecordQuery(collection).Limit(truncatedPage).All(&records); err != nil || len(records) == 0 {
				return err
			}
			for _, record := range records {
				if err := tx.Delete(record); err != nil && !errors.Is(err, sql.ErrNoRows) { // already deleted with another one
					return err
				}
			}
		}
	})
}
