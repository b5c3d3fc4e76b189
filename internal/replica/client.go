package replica

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"

	"contactbase/internal/replica/store"
)

// client implements Litestream's client for the files of a database in a directory of the store.
type client struct {
	store  store.Store
	folder string
	// opening makes LTXFiles list nothing. While Litestream opens a database, it asks what the store has of it. If that fails, it closes the
	// database's file, and thereby drops the locks that this process has on it: see ADR 19.
	opening atomic.Bool
	last    atomic.Uint64 // the last transaction that this process wrote to level 0
}

// newClient returns the client of a database in a generation.
func newClient(s store.Store, generation int64, file string) *client {
	return &client{store: s, folder: strconv.FormatInt(generation, 10) + "/" + file}
}

// sent returns the last transaction that this process has uploaded, or 0.
func (c *client) sent() ltx.TXID { return ltx.TXID(c.last.Load()) }

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
	all, err := c.files(ctx, level)
	if err != nil {
		return nil, err
	}
	var files []*ltx.FileInfo
	for _, file := range all {
		if file.MinTXID >= seek {
			files = append(files, file)
		}
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
	if level == 0 {
		c.last.Store(uint64(last))
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
