package replica

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"path"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"

	"contactbase/internal/replica/store"
)

// client has Litestream keep the files of a database in a folder of a store.
type client struct {
	store  store.Store
	folder string
	// opening tells that Litestream opens the database. It then asks for what the store has of it, closes the database's file where
	// it gets no answer, and so drops the locks that this process has on it: see ADR 19.
	opening atomic.Bool
}

var _ litestream.ReplicaClient = (*client)(nil)

// Type implements litestream.ReplicaClient.
func (c *client) Type() string { return "contactbase" }

// Init implements litestream.ReplicaClient.
func (c *client) Init(context.Context) error { return nil }

// SetLogger implements litestream.ReplicaClient.
func (c *client) SetLogger(*slog.Logger) {}

// LTXFiles implements litestream.ReplicaClient.
func (c *client) LTXFiles(ctx context.Context, level int, seek ltx.TXID, _ bool) (ltx.FileIterator, error) {
	if c.opening.Load() {
		return ltx.NewFileInfoSliceIterator(nil), nil
	}
	objects, err := c.store.List(ctx, litestream.LTXLevelDir(c.folder, level))
	if err != nil {
		return nil, err
	}
	var files []*ltx.FileInfo
	for _, object := range objects {
		first, last, err := ltx.ParseFilename(path.Base(object.Name))
		if err != nil || first < seek {
			continue
		}
		files = append(files, &ltx.FileInfo{Level: level, MinTXID: first, MaxTXID: last, Size: object.Size, CreatedAt: object.Modified.UTC()})
	}
	return ltx.NewFileInfoSliceIterator(files), nil
}

// OpenLTXFile implements litestream.ReplicaClient.
func (c *client) OpenLTXFile(ctx context.Context, level int, first, last ltx.TXID, offset, size int64) (io.ReadCloser, error) {
	return c.store.Get(ctx, litestream.LTXFilePath(c.folder, level, first, last), offset, size)
}

// WriteLTXFile implements litestream.ReplicaClient.
func (c *client) WriteLTXFile(ctx context.Context, level int, first, last ltx.TXID, content io.Reader) (*ltx.FileInfo, error) {
	size, err := c.store.Put(ctx, litestream.LTXFilePath(c.folder, level, first, last), content)
	if err != nil {
		return nil, err
	}
	return &ltx.FileInfo{Level: level, MinTXID: first, MaxTXID: last, Size: size, CreatedAt: time.Now().UTC()}, nil
}

// DeleteLTXFiles implements litestream.ReplicaClient.
func (c *client) DeleteLTXFiles(ctx context.Context, files []*ltx.FileInfo) error {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = litestream.LTXFilePath(c.folder, file.Level, file.MinTXID, file.MaxTXID)
	}
	return c.store.Delete(ctx, names)
}

// DeleteAll implements litestream.ReplicaClient.
func (c *client) DeleteAll(ctx context.Context) error { return c.store.DeleteFolder(ctx, c.folder) }

// newest returns the last transaction that the store has, over all levels, 0 for none.
func (c *client) newest(ctx context.Context) (last ltx.TXID, err error) {
	for level := 0; level <= litestream.SnapshotLevel; level++ {
		files, err := c.LTXFiles(ctx, level, 0, false)
		if err != nil {
			return 0, err
		}
		for files.Next() {
			last = max(last, files.Item().MaxTXID)
		}
	}
	return last, nil
}

// restorable tells whether the store has all that it takes to restore the database.
func (c *client) restorable(ctx context.Context) (bool, error) {
	_, err := litestream.CalcRestorePlan(ctx, c, 0, time.Time{}, slog.New(slog.DiscardHandler))
	if errors.Is(err, litestream.ErrTxNotAvailable) || errors.Is(err, litestream.ErrNoSnapshots) || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
