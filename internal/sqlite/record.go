package sqlite

import "github.com/pocketbase/pocketbase/core"

// TransactRecord runs the rest of a record's write, and the writes that belong to it, in one transaction. Meanwhile the event's app is
// the transaction's; afterwards it is the outer one, which the after-success hooks expect.
func TransactRecord(e *core.RecordEvent, write func(tx core.App) error) error {
	outer := e.App
	defer func() { e.App = outer }()
	return outer.RunInTransaction(func(tx core.App) error {
		e.App = tx
		return write(tx)
	})
}
