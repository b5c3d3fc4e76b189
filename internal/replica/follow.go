package replica

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"

	"contactbase/internal/loop"
	"contactbase/internal/replica/shipping"
	"contactbase/internal/replica/store"
)

const (
	followingName   = "following" // the directory of the copies that follow
	generationName  = "generation"
	followInterval  = time.Second
	catchUpInterval = 50 * time.Millisecond // during a takeover
	catchUpTimeout  = 10 * time.Second      // then the database is restored from the start
)

// follower keeps copies of the databases close behind a generation in the store.
type follower struct {
	replica    *Replica
	from       store.Store
	generation int64
	cancel     context.CancelFunc
	running    sync.WaitGroup
}

// newFollower follows a generation. It continues with existing copies if they are of that generation.
func newFollower(r *Replica, generation int64) (*follower, error) {
	f := &follower{replica: r, from: r.store, generation: generation}
	if err := f.prepare(); err != nil { // transactions of different generations have the same numbers
		return nil, fmt.Errorf("preparing to follow generation %d: %w", generation, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.cancel = cancel
	for _, file := range []string{dataFile, auxiliaryFile} {
		f.running.Go(func() { f.follow(ctx, file) })
	}
	return f, nil
}

// prepare deletes copies of another generation.
func (f *follower) prepare() error {
	mark, folder := f.path(generationName), f.replica.path(followingName)
	number := strconv.FormatInt(f.generation, 10)
	if content, err := os.ReadFile(mark); err == nil && string(content) == number {
		return nil
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(number), jsonMode)
}

func (f *follower) path(name string) string {
	return f.replica.path(filepath.Join(followingName, name))
}

// follow follows until ctx ends, and starts over if Litestream cannot continue.
func (f *follower) follow(ctx context.Context, file string) {
	for ctx.Err() == nil {
		if err := f.restore(ctx, file, followInterval, 0); err != nil && ctx.Err() == nil {
			f.replica.progress.setError(fmt.Errorf("following %s: %w", file, err))
			f.discard(file)
		}
		loop.Pause(ctx, followInterval)
	}
}

// restore restores a database and follows it, or with interval 0 restores it up to a transaction.
func (f *follower) restore(ctx context.Context, file string, interval time.Duration, last ltx.TXID) error {
	return shipping.NewFiles(f.from, f.generation, file).Restore(ctx, f.path(file), interval, last)
}

// discard deletes a copy.
func (f *follower) discard(file string) {
	for _, suffix := range []string{"", "-txid", "-wal", "-shm", ".tmp"} {
		_ = os.Remove(f.path(file + suffix)) // the next attempt reports what is left
	}
}

func (f *follower) stop() {
	f.cancel()
	f.running.Wait()
}

// finish brings a copy to a transaction, and checks it.
func (f *follower) finish(ctx context.Context, file string, last ltx.TXID) error {
	f.stop()
	if err := f.followTo(ctx, file, last); err != nil {
		f.discard(file)
		if err := f.restore(ctx, file, 0, last); err != nil {
			return err
		}
	}
	_ = os.Remove(f.path(file + "-txid"))
	return checkIntegrity(ctx, f.path(file), "quick_check")
}

// followTo continues to follow until a transaction is there.
func (f *follower) followTo(ctx context.Context, file string, last ltx.TXID) error {
	reached := func() bool {
		applied, err := litestream.ReadTXIDFile(f.path(file))
		return err == nil && applied > 0 && applied >= last
	}
	if reached() {
		return nil
	}
	if _, err := os.Stat(f.path(file)); err != nil {
		return err // there is nothing to continue with
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- f.restore(ctx, file, catchUpInterval, 0) }()
	for ctx.Err() == nil && !reached() {
		select {
		case err := <-ended:
			return fmt.Errorf("following ended early: %w", err)
		case <-time.After(catchUpInterval / 2):
		}
	}
	cancel()
	if err := <-ended; err != nil {
		return err
	}
	if !reached() {
		return fmt.Errorf("transaction %s is not there after %s", last, catchUpTimeout)
	}
	return nil
}
