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

	"contactbase/internal/replica/store"
	"contactbase/internal/sqlite"
)

// claimInterval is how often a store that is away is asked for a place in it.
const claimInterval = time.Second

// Timeouts at the end of the program.
const (
	shutdownTimeout = 10 * time.Second // for what is not in the store yet
	releaseTimeout  = 5 * time.Second  // for the record of that
)

// runner is what replicates while the program serves.
type runner struct {
	app           core.App
	commits       func() uint64 // how often this process has committed to data.db, also once that is closed
	began         time.Time
	timeout       time.Duration // at the end, 0 for shutdownTimeout
	cancel        context.CancelFunc
	running       sync.WaitGroup
	ready         chan struct{} // closed once uploaders are there
	uploaders     []*uploader   // of data.db and of auxiliary.db
	store         *litestream.Store
	control       *control
	unlockDataDir func() // has another process replicate the folder
}

// Start replicates the app's databases, which are open, until Stop.
func (r *Replica) Start(app core.App) error {
	if err := r.checkPath(); err != nil {
		return err
	}
	if err := r.lockDataDir(); err != nil {
		return err
	}
	if r.lease != nil {
		sqlite.PreCommit(app, r.mayCommit)
	}
	for _, db := range []dbx.Builder{app.NonconcurrentDB(), app.AuxNonconcurrentDB()} {
		if err := prepare(db); err != nil {
			return fmt.Errorf("preparing a database for its replica: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.runner.app, r.runner.began, r.runner.cancel, r.runner.ready = app, time.Now(), cancel, make(chan struct{})
	r.runner.commits = sqlite.Commits(app)
	listening, err := r.listen()
	if err != nil {
		cancel()
		return err
	}
	r.runner.control = listening
	r.runner.running.Go(func() { r.run(ctx) })
	return nil
}

// prepare makes the tables that Litestream keeps in a database, so that it waits for no writer when it opens that: see ADR 19.
func prepare(db dbx.Builder) error {
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

// run finds its place in the store, and then replicates until ctx ends.
func (r *Replica) run(ctx context.Context) {
	for r.lease == nil {
		err := errors.Join(store.RemoveUnfinished(r.store), r.claim(ctx))
		if err == nil {
			break
		}
		r.failed(err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(claimInterval):
		}
	}
	log := quiet(r.runner.app.Logger())
	if err := r.openAll(log); err != nil {
		r.failed(err)
		return
	}
	var replicating sync.WaitGroup
	for _, s := range r.runner.uploaders {
		replicating.Go(func() { s.run(ctx, r.config.Interval) })
	}
	replicating.Go(func() { r.runner.uploaders[0].checkpointWAL(ctx) })
	replicating.Go(func() { r.watchLocation(ctx) })
	close(r.runner.ready)
	r.compact(ctx, log)
	replicating.Wait()
}

// openAll has Litestream open the databases.
func (r *Replica) openAll(log *slog.Logger) error {
	data := newUploader(filepath.Join(r.dataDir, dataFile), r.path(dataFile), r.client(r.generation, dataFile))
	data.commits, data.beforeUpload, data.uploaded, data.finished = r.runner.commits, r.captureNewestEvent, r.recordUpload, r.finishUpload
	data.takeOverCheckpoints(r.runner.app)
	r.runner.uploaders = []*uploader{data, newUploader(filepath.Join(r.dataDir, auxiliaryFile), r.path(auxiliaryFile), r.client(r.generation, auxiliaryFile))}
	var all []*litestream.DB
	for _, s := range r.runner.uploaders {
		all = append(all, s.db)
	}
	r.runner.store = litestream.NewStore(all, litestream.DefaultCompactionLevels)
	r.runner.store.Logger = log
	for _, db := range all {
		db.SetLogger(log)
		if err := db.Open(); err != nil {
			return err
		}
	}
	return nil
}

// compact has Litestream join small files once the store has everything, and deletes what nobody restores any more.
func (r *Replica) compact(ctx context.Context, log *slog.Logger) {
	for _, s := range r.runner.uploaders {
		if err := s.flush(ctx); err != nil {
			return // the end
		}
	}
	if err := r.prune(ctx); err != nil {
		log.Warn("deleting old generations of the replica", "error", err)
	}
	if err := r.runner.store.Open(ctx); err != nil {
		r.failed(err)
	}
}

// finishUpload notes how a round of data.db ended.
func (r *Replica) finishUpload(err error) {
	if err != nil {
		r.failed(err)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil && r.state == Active {
		r.runner.app.Logger().Info("the replica is kept up to date again")
	}
	r.last = nil
	if r.state == Starting {
		r.state = Active
	}
}

// failed notes, and tells once, why nothing is replicated.
func (r *Replica) failed(err error) {
	r.mu.Lock()
	first := r.last == nil
	r.last = err
	r.mu.Unlock()
	if first {
		r.runner.app.Logger().Error("the replica is not kept up to date", "error", err)
	}
}

// Acknowledge returns once what was committed before may be answered: in Sync when the store has it, and with a lease while this
// machine has that. The error is ErrUnreplicated or ErrFenced.
func (r *Replica) Acknowledge(ctx context.Context) error {
	if err := r.mayCommit(); err != nil {
		return err
	}
	if r.config.Mode != Sync {
		return nil
	}
	if err := r.reach(ctx, r.config.Timeout, (*uploader).wait); err != nil {
		return err
	}
	return r.mayCommit() // what came late may be in the store after the successor has read that
}

// AcknowledgeAll is Acknowledge for what was committed beside the writers of this process as well.
func (r *Replica) AcknowledgeAll(ctx context.Context) error {
	err := r.mayCommit()
	if err == nil && r.IsSync() {
		err = r.reach(ctx, r.config.Timeout, (*uploader).flush)
	}
	if err != nil {
		return err
	}
	return r.mayCommit()
}

// Holds returns ErrFenced unless this machine serves.
func (r *Replica) Holds() error { return r.mayCommit() }

func (r *Replica) mayCommit() error {
	if r.lease != nil && !r.lease.held() {
		return ErrFenced
	}
	return nil
}

// reach waits in one way or another until the store has what data.db holds.
func (r *Replica) reach(ctx context.Context, timeout time.Duration, way func(*uploader, context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	select {
	case <-r.runner.ready:
	case <-ctx.Done():
		return ErrUnreplicated
	}
	return way(r.runner.uploaders[0], ctx)
}

// IsSync tells whether answers wait for the store.
func (r *Replica) IsSync() bool { return r != nil && r.config.Mode == Sync }

// Lost is closed when another machine has taken over, or may have. It is nil without a lease.
func (r *Replica) Lost() <-chan struct{} {
	if !r.HasLease() {
		return nil
	}
	return r.lease.lost
}

// Stop ends what Start has begun, once all is in the store, and has a standby take over. Nobody else may write any more. Where the store
// does not get everything, the error says how much it lacks, and no standby takes over what was answered.
func (r *Replica) Stop() error {
	if r.runner.cancel == nil {
		return nil
	}
	defer r.runner.unlockDataDir()
	ctx, cancel := context.WithTimeout(context.Background(), cmp.Or(r.runner.timeout, shutdownTimeout))
	defer cancel()
	r.runner.control.close()
	fenced := r.mayCommit() != nil
	r.runner.cancel()
	r.runner.running.Wait()
	missing, err := uint64(0), error(nil)
	if !fenced {
		missing, err = r.runner.replicateAll(ctx)
	}
	err = errors.Join(err, r.runner.close(ctx, fenced || err != nil))
	if fenced || r.mayCommit() != nil {
		return ErrFenced
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	return errors.Join(err, r.releaseLock(ending, missing))
}

// releaseLock has lock.json say that this machine has ended, and how many commits the store lacks. In Sync none of those was answered.
func (r *Replica) releaseLock(ctx context.Context, missing uint64) error {
	if r.config.Mode == Sync {
		missing = 0
	}
	switch {
	case r.lease != nil:
		return r.lease.release(ctx, missing)
	case r.positionRecorded.Load() || missing > 0 && r.generation > 0:
		return r.rewriteLock(ctx, func(last *lockRecord) { last.Unshipped = missing })
	default:
		return nil
	}
}

// replicateAll has the store have everything, and returns how many commits of data.db it lacks when ctx ends.
func (n *runner) replicateAll(ctx context.Context) (missing uint64, err error) {
	if len(n.uploaders) == 0 {
		if missing = n.commits(); missing == 0 {
			return 0, nil
		}
		return missing, fmt.Errorf("stopped with %d transactions missing from the replica: the replica has been unreachable since the server started; start the server again", missing)
	}
	data := n.uploaders[0]
	if err = data.replicateAll(ctx); err != nil {
		if missing = data.missing(); missing > 0 {
			err = fmt.Errorf("stopped with %d transactions missing from the replica: %w", missing, err)
		}
	}
	for _, s := range n.uploaders[1:] {
		err = errors.Join(err, s.replicateAll(ctx))
	}
	return missing, err
}

// close ends Litestream, which tries to send what is left unless that is of no use.
func (n *runner) close(ctx context.Context, useless bool) error {
	if n.store == nil {
		return nil
	}
	over := make(chan struct{})
	if useless {
		close(over)
	}
	n.store.SetDone(over)
	n.store.SetShutdownSyncTimeout(shutdownTimeout)
	if err := n.store.Close(ctx); !errors.Is(err, litestream.ErrShutdownInterrupted) {
		return err
	}
	return nil
}
