package shipping_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"contactbase/internal/replica/shipping"
	"contactbase/internal/replica/store"
)

// newUploader returns the uploader of a new database with a table "things", which runs until the test ends.
func newUploader(t *testing.T, to store.Store, finished func(error)) (db *sql.DB, u *shipping.Uploader, files *shipping.Files) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "data.db")
	db, err := sql.Open("sqlite", path+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	write(t, db, "CREATE TABLE things (name TEXT)")
	files = shipping.NewFiles(to, 1, "data.db")
	u = shipping.NewUploader(path, filepath.Join(dir, "shipping"), files)
	u.Finished = finished
	u.DB.SetLogger(slog.New(slog.DiscardHandler))
	if err := u.DB.Open(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		u.Run(ctx, time.Hour)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
		done := make(chan struct{})
		close(done)
		u.DB.Done = done
		_ = u.DB.Close(context.Background()) // it may report an upload that was interrupted
	})
	return db, u, files
}

func write(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatal(err)
	}
}

func newStore(t *testing.T) store.Store {
	t.Helper()
	opened, err := store.Open("file://"+t.TempDir(), store.Credentials{})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// Flush waits until the store has everything, and Restore restores it up to any transaction.
func TestFlushAndRestore(t *testing.T) {
	t.Parallel()
	db, u, files := newUploader(t, newStore(t), func(error) {})
	var extents []shipping.Extent
	for range 2 {
		write(t, db, "INSERT INTO things (name) VALUES ('a')")
		if err := u.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		found, err := files.Extent(t.Context())
		if err != nil || found.Restorable == 0 || found.Newest != found.Restorable {
			t.Fatalf("the store has %+v (%v)", found, err)
		}
		extents = append(extents, found)
	}
	for i, extent := range extents {
		path := filepath.Join(t.TempDir(), "restored.db")
		if err := files.Restore(t.Context(), path, 0, extent.Restorable); err != nil {
			t.Fatal(err)
		}
		restored, err := sql.Open("sqlite", path)
		if err != nil {
			t.Fatal(err)
		}
		var rows int
		if err := restored.QueryRow("SELECT count(*) FROM things").Scan(&rows); err != nil || rows != i+1 {
			t.Errorf("restored %d rows, want %d (%v)", rows, i+1, err)
		}
		if err := restored.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := u.Wait(t.Context()); err != nil || u.Missing() != 0 {
		t.Errorf("after the uploads, %d commits are missing (%v)", u.Missing(), err)
	}
}

var errFull = errors.New("the store is full")

// fullStore is a store that accepts no objects.
type fullStore struct{ store.Store }

func (fullStore) Put(context.Context, string, io.Reader) (int64, error) { return 0, errFull }

// If the context ends before the store has everything, Flush returns ErrUnreplicated and the error of the last upload.
func TestFlushToFullStore(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	_, u, _ := newUploader(t, fullStore{newStore(t)}, func(err error) {
		if err != nil {
			cancel()
		}
	})
	if err := u.Flush(ctx); !errors.Is(err, shipping.ErrUnreplicated) || !errors.Is(err, errFull) {
		t.Errorf("got %v", err)
	}
	if u.Missing() == 0 {
		t.Error("nothing is missing")
	}
}
