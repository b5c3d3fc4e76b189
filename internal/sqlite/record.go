package sqlite

import "github.com/pocketbase/pocketbase/core"

// TransactRecord runs the rest of a record's write, and what belongs to it, in one transaction. The event's app is the
// transaction's in between; afterwards it is the one that the hooks after success expect.
func TransactRecord(e *core.RecordEvent, write func(tx core.App) error) error {
	outer := e.App
	defer func() { e.App = outer }()
	return outer.RunInTransaction(func(tx core.App) error {
		e.App = tx
		return write(tx)
	})
}
