package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"sync"
	"sync/atomic"

	"contactbase/internal/sqlite/physical"
)

// connector opens the connections of one pool: physical connections for reading, or virtual ones that share the
// connection of a writer.
type connector struct {
	driver           driver.Driver
	path             string
	durability       Durability
	readerStatements int
	writerStatements int

	pool   *sql.DB
	choose sync.Once
	writer atomic.Pointer[writer] // nil in a pool of readers, and before the first connection

	commits commits
}

// Connect implements driver.Connector. PocketBase opens both pools with the same path, and uses them before any hook
// runs. It sets the limit of connections in between, and nothing else identifies the writing pool. Bind returns an
// error if this goes wrong.
func (c *connector) Connect(context.Context) (driver.Conn, error) {
	var err error
	c.choose.Do(func() {
		if c.pool.Stats().MaxOpenConnections == 1 {
			var w *writer
			w, err = newWriter(filepath.Dir(c.path), func() (*physical.Connection, error) {
				return c.connect(c.writerStatements, writerCache)
			})
			w.relaxes = c.durability == Full
			c.writer.Store(w)
		}
	})
	if err != nil {
		return nil, err
	}
	if w := c.writer.Load(); w != nil {
		return &virtual{writer: w}, nil
	}
	return c.reader()
}

// reader returns a connection on which SQLite rolls back everything that a statement writes: all commits go
// through the writer and its pre-commit hook. PRAGMA query_only would also forbid VACUUM INTO, which does not
// write to our databases.
func (c *connector) reader() (driver.Conn, error) {
	physical, err := c.connect(c.readerStatements, readerCache)
	if err != nil {
		return nil, err
	}
	physical.RegisterCommitHook(func() int32 { return 1 })
	return physical, nil
}

func (c *connector) connect(statements, cache int) (*physical.Connection, error) {
	return physical.Open(c.driver, dataSource(c.path, c.durability, cache), statements)
}

// Driver implements driver.Connector.
func (c *connector) Driver() driver.Driver { return pooled{Driver: c.driver, connector: c} }

// Close implements io.Closer. database/sql calls it when the pool is closed.
func (c *connector) Close() error {
	err := c.commits.close()
	if w := c.writer.Load(); w != nil {
		err = errors.Join(err, w.close())
	}
	return err
}

// pooled gives access to the connector of a pool.
type pooled struct {
	driver.Driver
	connector *connector
}
