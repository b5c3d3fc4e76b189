package sqlite

import (
	"context"
	"database/sql/driver"
	"path/filepath"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite/physical"
)

// ConnectRecording is Connect, and calls record with the text of each statement that a connection of data.db compiles.
func ConnectRecording(record func(text string)) core.DBConnectFunc {
	return func(path string) (*dbx.DB, error) {
		if filepath.Base(path) != dataFile {
			return core.DefaultDBConnect(path)
		}
		db, err := open(path, Normal, readerStatements, writerStatements)
		if err == nil {
			c := db.DB().Driver().(pooled).connector
			c.driver = recordingDriver{c.driver, record}
		}
		return db, err
	}
}

type recordingDriver struct {
	driver.Driver
	record func(text string)
}

func (d recordingDriver) Open(name string) (driver.Conn, error) {
	opened, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return recordingConnection{opened.(physical.Raw), d.record}, nil
}

type recordingConnection struct {
	physical.Raw
	record func(text string)
}

func (c recordingConnection) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.record(query)
	return c.Raw.PrepareContext(ctx, query)
}
