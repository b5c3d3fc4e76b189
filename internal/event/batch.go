package event

import (
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// Batch collects the events of a transaction that has many, and writes them with one repeated statement. The zero value is empty.
type Batch struct {
	rows [][]any
}

// Add gives the event its id and payload, and keeps it for Flush.
func (b *Batch) Add(e *Event, now time.Time) error {
	write, err := Insert(e, now)
	if err != nil {
		return err
	}
	b.rows = append(b.rows, write.Args)
	return nil
}

// Flush writes the events in the order in which they were added, and empties the batch.
func (b *Batch) Flush(tx core.App) error {
	if len(b.rows) == 0 {
		return nil
	}
	if _, err := sqlite.Run(tx, []sqlite.Statement{sqlite.Repeat(insertSQL, b.rows)}); err != nil {
		return fmt.Errorf("writing %d events to the outbox: %w", len(b.rows), err)
	}
	*b = Batch{}
	return nil
}
