package sqlite

import (
	"database/sql/driver"
	"path/filepath"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite/physical"
)

// ConnectWrapped is Connect, and wraps each connection of data.db that the driver opens. Tests record with it which
// statements a program runs.
func ConnectWrapped(durability Durability, wrap func(physical.Raw) driver.Conn) core.DBConnectFunc {
	return func(path string) (*dbx.DB, error) {
		if filepath.Base(path) != dataFile {
			return core.DefaultDBConnect(Name(path))
		}
		db, err := open(path, durability, readerStatements, writerStatements)
		if err == nil {
			c := db.DB().Driver().(pooled).connector
			c.driver = wrappingDriver{c.driver, wrap}
		}
		return db, err
	}
}

type wrappingDriver struct {
	driver.Driver
	wrap func(physical.Raw) driver.Conn
}

// Open implements driver.Driver.
func (d wrappingDriver) Open(name string) (driver.Conn, error) {
	opened, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	return d.wrap(opened.(physical.Raw)), nil
}
