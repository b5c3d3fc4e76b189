package move

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// The database of an archive has the tenant's tables, in their own columns, and nothing else. The header's
// application id is format, its user version the number of the newest migration.
const format = 0x43424131 // "CBA1"

// Limits of an archive, in bytes, so that a hostile one cannot exhaust memory.
const (
	maxRow = 32 << 20
	maxSQL = 1 << 20
)

// pageSize fits the whole schema into the first page of the database, where its size is checked before SQLite reads it.
const pageSize = 65536

// checkFirstPage returns an error unless a file is a database with its schema in the first page
// (https://sqlite.org/fileformat2.html).
func checkFirstPage(file io.ReaderAt) error {
	const btree, leaf = 100, 0x0d
	head := make([]byte, btree+5)
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	entries := int(binary.BigEndian.Uint16(head[btree+3:]))
	if !bytes.HasPrefix(head, []byte("SQLite format 3\x00\x00\x01")) || head[btree] != leaf || entries > 4*len(tables) {
		return errors.New("the file is not a tenant archive, or it is damaged")
	}
	return nil
}

// database is a connection to two databases: `archive`, and `here`, which is the installation's and read-only.
type database struct {
	ctx  context.Context // nolint:containedctx // it lives for one export or import
	app  core.App
	pool *sql.DB
	conn *sql.Conn
}

// Modes for opening the database of an archive.
const (
	writable = "mode=rwc"
	readOnly = "mode=ro&immutable=1"
)

// open opens the archive's database, which is in file, together with the app's.
func open(ctx context.Context, app core.App, file, mode string) (*database, error) {
	pool, err := sql.Open("sqlite",
		"file::memory:?_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, err
	}
	conn, err := pool.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	db := &database{ctx, app, pool, conn}
	for id, limit := range map[int]int{sqlite3.SQLITE_LIMIT_LENGTH: 2 * maxRow, sqlite3.SQLITE_LIMIT_SQL_LENGTH: maxSQL} {
		if _, err := sqlite.Limit(conn, id, limit); err != nil {
			return nil, errors.Join(err, db.close())
		}
	}
	for name, uri := range map[string]string{
		"archive": uriOf(file, mode), "here": uriOf(filepath.Join(app.DataDir(), "data.db"), "mode=ro"),
	} {
		if _, err := conn.ExecContext(ctx, "ATTACH ? AS "+name, uri); err != nil {
			return nil, errors.Join(fmt.Errorf("opening the database %s: %s", name, err.Error()), db.close())
		}
	}
	return db, nil
}

func uriOf(file, query string) string {
	return (&url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(file), RawQuery: query}).String()
}

func (d *database) close() error { return errors.Join(d.conn.Close(), d.pool.Close()) }

// Query implements sqlite.Reader. Once the context has ended, the error is the context's: SQLite's own would look
// like one about the data directory.
func (d *database) Query(query string, args ...any) (*sql.Rows, error) {
	rows, err := d.conn.QueryContext(d.ctx, query, args...)
	return rows, d.explain(err)
}

func (d *database) run(statement string, args ...any) error {
	_, err := d.conn.ExecContext(d.ctx, statement, args...)
	return d.explain(err)
}

func (d *database) explain(err error) error {
	var failed *sqlite.Error
	switch {
	case err == nil:
		return nil
	case d.ctx.Err() != nil:
		return d.ctx.Err()
	case errors.As(err, &failed) && failed.Code()&0xff == sqlite3.SQLITE_FULL:
		return errors.New("not enough disk space for the data directory: free some space and try again")
	default:
		return errors.New(err.Error())
	}
}

// create returns the statement that creates an archive's table with these columns. Columns accept any value: values
// are checked, and never converted.
func (t *table) create(database string, columns []string) string {
	key := t.key
	if key == nil {
		key = []string{"id"}
	}
	return "CREATE TABLE `" + database + "`.`" + t.name +
		"` (" + quoted(columns, " ANY") + ", PRIMARY KEY (" + quoted(key, "") + ")) STRICT"
}

// quoted returns a list of columns, each followed by a text.
func quoted(columns []string, behind string) string {
	list := make([]string, len(columns))
	for i, column := range columns {
		list[i] = "`" + column + "`" + behind
	}
	return strings.Join(list, ", ")
}
