package main

import (
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"time"

	_ "modernc.org/sqlite" // the driver that PocketBase uses
)

// floors measures what the machine can do at most: a server that does nothing, and inserts without a server.
func floors(out io.Writer, dir string) error {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":{}}`)
	}))
	defer server.Close()
	length := time.Duration(*seconds * float64(time.Second))
	bare := run(server.URL, nil, *connections, length, 0, get("/"))
	alone, err := inserts(filepath.Join(dir, "alone.db"), length, 1)
	if err != nil {
		return fmt.Errorf("inserting: %w", err)
	}
	together, err := inserts(filepath.Join(dir, "together.db"), length, 100)
	if err != nil {
		return fmt.Errorf("inserting: %w", err)
	}
	fmt.Fprintf(out, "Floors: a bare net/http handler answers %.0f/s; rows of a contact with the same indexes, without a server: %.0f/s in a transaction each "+
		"(normal durability), %.0f/s in transactions of 100.\n\n", bare.perSecond, alone, together)
	return nil
}

// inserts inserts rows with the indexes of a contact and returns how many a second.
func inserts(path string, length time.Duration, batch int) (float64, error) {
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)&_pragma=cache_size(-32000)")
	if err != nil {
		return 0, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, statement := range []string{
		"CREATE TABLE contacts (id TEXT PRIMARY KEY NOT NULL, tenant TEXT, name TEXT, email TEXT, phone TEXT, company TEXT, externalId TEXT, created TEXT, updated TEXT)",
		"CREATE INDEX a ON contacts (tenant, created, id)", "CREATE INDEX b ON contacts (tenant, updated, id)",
		"CREATE INDEX c ON contacts (tenant, name COLLATE NOCASE, id)", "CREATE INDEX d ON contacts (tenant, phone) WHERE phone != ''",
		"CREATE UNIQUE INDEX e ON contacts (tenant, externalId) WHERE externalId != ''",
	} {
		if _, err := db.Exec(statement); err != nil {
			return 0, err
		}
	}
	began, rows := time.Now(), 0
	for time.Since(began) < length {
		tx, err := db.Begin()
		if err != nil {
			return 0, err
		}
		for range batch {
			n := rand.Int64N(1 << 40)
			now := time.Now().UTC().Format("2006-01-02 15:04:05.000Z")
			_, err := tx.Exec("INSERT INTO contacts VALUES (?, ?, ?, ?, ?, ?, '', ?, ?)", fmt.Sprintf("%015x", rows), benchTenant,
				fmt.Sprintf("%s Nr%x", firstNames[n%10], n), fmt.Sprintf("p%d@example.com", n), fmt.Sprintf("+49%d", n), "Firma", now, now)
			if err != nil {
				return 0, err
			}
			rows++
		}
		if err := tx.Commit(); err != nil {
			return 0, err
		}
	}
	return float64(rows) / time.Since(began).Seconds(), nil
}
