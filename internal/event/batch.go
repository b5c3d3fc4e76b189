package event

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/wire"
)

// Batch gathers the events of a transaction that has many, which one statement then writes. The zero value is empty.
type Batch struct {
	rows [][]any
}

const insertAllSQL = "INSERT INTO `events` (`id`, `tenant`, `type`, `contact`, `payload`, `created`) " +
	"SELECT value ->> 0, value ->> 1, value ->> 2, value ->> 3, value ->> 4, value ->> 5 FROM json_each(?)"

// Add gives the event its id and keeps it for Flush.
func (b *Batch) Add(tx sqlite.Reader, e *Event, now time.Time) error {
	write, err := Plan(tx, e, now)
	if err != nil {
		return err
	}
	b.rows = append(b.rows, write.Args)
	return nil
}

// Flush writes what was gathered, in the order in which it came, and empties the batch.
func (b *Batch) Flush(tx core.App) error {
	if len(b.rows) == 0 {
		return nil
	}
	encoded, err := wire.AppendJSON(nil, b.rows)
	if err == nil {
		_, err = sqlite.Run(tx, []sqlite.Statement{{Text: insertAllSQL, Args: []any{string(encoded)}}})
	}
	if err != nil {
		return fmt.Errorf("writing %d events to the outbox: %w", len(b.rows), err)
	}
	*b = Batch{}
	return nil
}
