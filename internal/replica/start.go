package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/loop"
	"contactbase/internal/replica/control"
	"contactbase/internal/replica/shipping"
	"contactbase/internal/replica/store"
	"contactbase/internal/sqlite"
)

// claimInterval is the pause between two attempts to claim the location.
const claimInterval = time.Second

// Timeouts of Stop.
const (
	shutdownTimeout = 10 * time.Second // for uploading the rest
	releaseTimeout  = 5 * time.Second  // for writing the lock record
)

// replication is what runs from Start to Stop.
type replication struct {
	app             core.App
	commits         func() uint64 // counts the commits of this process to data.db, even after the app has closed it
	began           time.Time
	shutdownTimeout time.Duration // 0 for the default
	cancel          context.CancelFunc
	running         sync.WaitGroup
	ready           chan struct{}        // closed once uploaders is set
	uploaders       []*shipping.Uploader // of data.db and of auxiliary.db
	store           *litestream.Store
	control         *control.Server
	unlock          func() // lets another process replicate the data directory
}

// Start replicates the app's databases, which are open, until Stop.
func (r *Replica) Start(app core.App) error {
	unlock, err := r.lockDataDir()
	if err != nil {
		return err
	}
	if r.lease != nil {
		sqlite.PreCommit(app, r.Holds)
	}
	for _, db := range []dbx.Builder{app.NonconcurrentDB(), app.AuxNonconcurrentDB()} {
		if err := createLitestreamTables(db); err != nil {
			return fmt.Errorf("preparing a database for its replica: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &r.replication
	n.app, n.began, n.cancel, n.ready, n.unlock = app, time.Now(), cancel, make(chan struct{}), unlock
	n.commits = sqlite.Commits(app)
	if n.control, err = r.listen(); err != nil {
		cancel()
		return err
	}
	n.running.Go(func() { r.run(ctx) })
	return nil
}

// createLitestreamTables creates the tables that Litestream keeps in a database, so that it does not wait for a
// writer when it opens the database: see ADR 19.
func createLitestreamTables(db dbx.Builder) error {
	for _, statement := range []string{
		"CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER)",
		"CREATE TABLE IF NOT EXISTS _litestream_lock (id INTEGER)",
		"INSERT INTO _litestream_seq (id, seq) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET seq = seq + 1",
	} {
		if _, err := db.NewQuery(statement).Execute(); err != nil {
			return err
		}
	}
	return nil
}

// run claims the location if there is no lease, and then replicates until ctx ends.
func (r *Replica) run(ctx context.Context) {
	for r.lease == nil {
		err := r.claim(ctx)
		if err == nil {
			err = store.RemoveUnfinished(r.store)
		}
		if err == nil {
			break
		}
		r.failed(err)
		if isRefusal(err) {
			r.refused <- err
			return
		}
		if !loop.Pause(ctx, claimInterval) {
			return
		}
	}
	log := shipping.Quiet(r.replication.app.Logger())
	if err := r.openAll(log); err != nil {
		r.failed(err)
		return
	}
	var replicating sync.WaitGroup
	for _, u := range r.replication.uploaders {
		replicating.Go(func() { u.Run(ctx, r.config.Interval) })
	}
	replicating.Go(func() { r.replication.uploaders[0].CheckpointWAL(ctx) })
	replicating.Go(func() { r.watchLocation(ctx) })
	close(r.replication.ready)
	r.compact(ctx, log)
	replicating.Wait()
}

// openAll opens the databases in Litestream.
func (r *Replica) openAll(log *slog.Logger) error {
	uploaderOf := func(file string) *shipping.Uploader {
		return shipping.NewUploader(filepath.Join(r.dataDir, file), r.path(file),
			shipping.NewFiles(r.store, r.written.generation.Load(), file))
	}
	data := uploaderOf(dataFile)
	data.Commits, data.BeforeUpload, data.Uploaded, data.Finished = r.replication.commits,
		r.captureNewestEvent, r.recordUpload, r.finishUpload
	data.TakeOverCheckpoints(r.replication.app)
	r.replication.uploaders = []*shipping.Uploader{data, uploaderOf(auxiliaryFile)}
	var all []*litestream.DB
	for _, u := range r.replication.uploaders {
		all = append(all, u.DB)
	}
	r.replication.store = litestream.NewStore(all, litestream.DefaultCompactionLevels)
	r.replication.store.Logger = log
	for _, db := range all {
		db.SetLogger(log)
		if err := db.Open(); err != nil {
			return err
		}
	}
	return nil
}

// compact starts Litestream's compaction once the store has everything, and deletes old generations.
func (r *Replica) compact(ctx context.Context, log *slog.Logger) {
	if r.replication.flush(ctx) != nil {
		return // ctx has ended
	}
	if err := r.prune(ctx); err != nil {
		log.Warn("deleting old generations of the replica", "error", err)
	}
	if err := r.replication.store.Open(ctx); err != nil {
		r.failed(err)
	}
}

// finishUpload notes how an upload of data.db ended.
func (r *Replica) finishUpload(err error) {
	if err != nil {
		r.failed(err)
	} else if r.progress.uploaded() {
		r.replication.app.Logger().Info("the replica is up to date again")
	}
}

// failed notes what prevents replication, and logs the first of several errors in a row.
func (r *Replica) failed(err error) {
	if r.progress.setError(err) {
		r.replication.app.Logger().Error("the replica is not up to date", "error", err)
	}
}

// Stop ends what Start has begun, after it has uploaded the rest, and lets a standby take over. Nothing may write any
// more. If the store does not get everything, the error says how much it lacks, and no standby takes over without
// what was acknowledged.
func (r *Replica) Stop() error {
	n := &r.replication
	if n.cancel == nil {
		return nil
	}
	defer n.unlock()
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(n.shutdownTimeout, shutdownTimeout))
	defer cancel()
	r.stopListening()
	fenced := r.Holds() != nil
	n.cancel()
	n.running.Wait()
	missing, err := uint64(0), error(nil)
	if !fenced {
		missing, err = n.replicateAll(ctx, r.Obstacle())
	}
	err = errors.Join(err, n.close(ctx, fenced || err != nil))
	if fenced || r.Holds() != nil {
		return ErrFenced
	}
	releasing, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return errors.Join(err, r.releaseLock(releasing, missing))
}

// replicateAll uploads everything, and returns how many commits of data.db the store lacks when ctx ends. The
// obstacle is why nothing was uploaded yet, if nothing was.
func (n *replication) replicateAll(ctx context.Context, obstacle error) (missing uint64, err error) {
	if len(n.uploaders) == 0 {
		if missing = n.commits(); missing == 0 {
			return 0, nil
		}
		if !isRefusal(obstacle) {
			obstacle = errors.New("the replica has been unreachable since the server started; start the server again")
		}
		return missing, fmt.Errorf("stopped with %d transactions missing from the replica: %w", missing, obstacle)
	}
	data := n.uploaders[0]
	if err = data.ReplicateAll(ctx); err != nil {
		if missing = data.Missing(); missing > 0 {
			err = fmt.Errorf("stopped with %d transactions missing from the replica: %w", missing, err)
		}
	}
	for _, u := range n.uploaders[1:] {
		err = errors.Join(err, u.ReplicateAll(ctx))
	}
	return missing, err
}

// close ends Litestream, which tries to upload the rest unless that is useless.
func (n *replication) close(ctx context.Context, useless bool) error {
	if n.store == nil {
		return nil
	}
	done := make(chan struct{})
	if useless {
		close(done)
	}
	n.store.SetDone(done)
	n.store.SetShutdownSyncTimeout(shutdownTimeout)
	if err := n.store.Close(ctx); !errors.Is(err, litestream.ErrShutdownInterrupted) {
		return err
	}
	return nil
}

// data returns the uploader of data.db once there is one. If ctx ends first, the error is ErrUnreplicated.
func (n *replication) data(ctx context.Context) (*shipping.Uploader, error) {
	select {
	case <-n.ready:
		return n.uploaders[0], nil
	case <-ctx.Done():
		return nil, ErrUnreplicated
	}
}

// flush waits until the store has what all processes have committed to all databases. The uploaders are ready.
func (n *replication) flush(ctx context.Context) error {
	for _, u := range n.uploaders {
		if err := u.Flush(ctx); err != nil {
			return err
		}
	}
	return nil
}

// lag returns for how long, in seconds, and by how much the store is behind. Until the uploaders are ready, it is
// behind since Start.
func (n *replication) lag() (seconds float64, commits uint64, bytes int64) {
	select {
	case <-n.ready:
		data := n.uploaders[0]
		lag, commits := data.Lag()
		return lag.Seconds(), commits, data.PendingBytes()
	default:
		if n.began.IsZero() {
			return 0, 0, 0
		}
		return time.Since(n.began).Seconds(), 0, 0
	}
}
