package shipping

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"path"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"

	"contactbase/internal/replica/store"
)

// Files is the files of a database in a generation of the store. It implements Litestream's client.
type Files struct {
	store  store.Store
	folder string
	// opening makes LTXFiles list nothing. While Litestream opens a database, it lists the files in the store. If
	// that fails, it closes the database's file, and thereby drops the locks that this process has on it: see ADR 19.
	opening atomic.Bool
	last    atomic.Uint64 // the last transaction that this process has written to level 0
}

// NewFiles returns the files of a database in a generation.
func NewFiles(s store.Store, generation int64, file string) *Files {
	return &Files{store: s, folder: strconv.FormatInt(generation, 10) + "/" + file}
}

// sent returns the last transaction that this process has uploaded, or 0.
func (f *Files) sent() ltx.TXID { return ltx.TXID(f.last.Load()) }

var _ litestream.ReplicaClient = (*Files)(nil)

// Type implements litestream.ReplicaClient.
func (f *Files) Type() string { return "contactbase" }

// Init implements litestream.ReplicaClient.
func (f *Files) Init(context.Context) error { return nil }

// SetLogger implements litestream.ReplicaClient.
func (f *Files) SetLogger(*slog.Logger) {}

// LTXFiles implements litestream.ReplicaClient.
func (f *Files) LTXFiles(ctx context.Context, level int, seek ltx.TXID, _ bool) (ltx.FileIterator, error) {
	if f.opening.Load() {
		return ltx.NewFileInfoSliceIterator(nil), nil
	}
	all, err := f.list(ctx, level)
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
func (f *Files) OpenLTXFile(
	ctx context.Context, level int, first, last ltx.TXID, offset, size int64,
) (io.ReadCloser, error) {
	return f.store.Get(ctx, litestream.LTXFilePath(f.folder, level, first, last), offset, size)
}

// WriteLTXFile implements litestream.ReplicaClient.
func (f *Files) WriteLTXFile(
	ctx context.Context, level int, first, last ltx.TXID, content io.Reader,
) (*ltx.FileInfo, error) {
	size, err := f.store.Put(ctx, litestream.LTXFilePath(f.folder, level, first, last), content)
	if err != nil {
		return nil, err
	}
	if level == 0 {
		f.last.Store(uint64(last))
	}
	return &ltx.FileInfo{Level: level, MinTXID: first, MaxTXID: last, Size: size, CreatedAt: time.Now().UTC()}, nil
}

// DeleteLTXFiles implements litestream.ReplicaClient.
func (f *Files) DeleteLTXFiles(ctx context.Context, files []*ltx.FileInfo) error {
	names := make([]string, len(files))
	for i, file := range files {
		names[i] = litestream.LTXFilePath(f.folder, file.Level, file.MinTXID, file.MaxTXID)
	}
	return f.store.Delete(ctx, names)
}

// DeleteAll implements litestream.ReplicaClient.
func (f *Files) DeleteAll(ctx context.Context) error { return f.store.DeleteFolder(ctx, f.folder) }

// Extent is what the store has of a database in a generation.
type Extent struct {
	Restorable ltx.TXID // the last transaction that can be restored; 0 for none
	Newest     ltx.TXID // the last transaction of any file; later than Restorable if files are missing
}

// Extent returns what the store has of the database. It lists all levels concurrently.
func (f *Files) Extent(ctx context.Context) (found Extent, err error) {
	var files []*ltx.FileInfo
	var mu sync.Mutex
	var listing sync.WaitGroup
	for level := 0; level <= litestream.SnapshotLevel; level++ {
		listing.Go(func() {
			some, listErr := f.list(ctx, level)
			mu.Lock()
			defer mu.Unlock()
			files, err = append(files, some...), errors.Join(err, listErr)
		})
	}
	listing.Wait()
	if err != nil {
		return Extent{}, err
	}
	for grown := true; grown; {
		grown = false
		for _, file := range files {
			found.Newest = max(found.Newest, file.MaxTXID)
			if file.MinTXID <= found.Restorable+1 && file.MaxTXID > found.Restorable {
				found.Restorable, grown = file.MaxTXID, true
			}
		}
	}
	return found, nil
}

// list returns the files of a level.
func (f *Files) list(ctx context.Context, level int) (files []*ltx.FileInfo, err error) {
	objects, err := f.store.List(ctx, litestream.LTXLevelDir(f.folder, level))
	for _, object := range objects {
		first, last, parseErr := ltx.ParseFilename(path.Base(object.Name))
		if parseErr != nil {
			continue
		}
		files = append(files, &ltx.FileInfo{
			Level: level, MinTXID: first, MaxTXID: last, Size: object.Size, CreatedAt: object.Modified.UTC(),
		})
	}
	return files, err
}

// Restore restores the database to a path, up to a transaction or with 0 up to the last one. With an interval above
// 0, it then follows the store until ctx ends. Restore does not log errors of single files.
func (f *Files) Restore(ctx context.Context, path string, interval time.Duration, last ltx.TXID) error {
	options := litestream.NewRestoreOptions()
	options.OutputPath, options.TXID = path, last
	options.Follow, options.FollowInterval = interval > 0, interval
	db := litestream.NewDB(path)
	db.SetLogger(slog.New(slog.DiscardHandler))
	return litestream.NewReplicaWithClient(db, f).Restore(ctx, options)
}
