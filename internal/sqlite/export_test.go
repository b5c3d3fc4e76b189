package sqlite

import (
	"context"
	"database/sql/driver"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite/physical"
)

// ConnectRecording is Connect, and calls record with the text of each statement that a connection of data.db compiles.
func ConnectRecording(record func(text string)) core.DBConnectFunc {
	return ConnectThrough(Normal, func(raw physical.Raw) driver.Conn { return recordingConnection{raw, record} })
}

type recordingConnection struct {
	physical.Raw
	record func(text string)
}

func (c recordingConnection) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.record(query)
	return c.Raw.PrepareContext(ctx, query)
}
