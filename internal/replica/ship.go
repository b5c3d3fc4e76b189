package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"
)

// retryInterval is how soon an upload that failed is tried again while somebody waits for it.
const retryInterval = 100 * time.Millisecond

// shipper has the store have what a database holds.
type shipper struct {
	db      *litestream.DB
	client  *client
	commits func() uint64                         // how often it was committed to, by this process
	look    func() func()                         // called before each round; what it returns is called when that has succeeded
	sent    func(context.Context, ltx.TXID) error // called in each round, once the store has everything up to a transaction
	ended   func(error)                           // called after each round

	kick    chan struct{} // has a value when somebody waits for a round
	syncing sync.Mutex    // held by the one that has Litestream read the log, before the writer's turn
	wal     *groupedWAL   // of data.db, nil for others

	mu      sync.Mutex
	rounds  uint64        // that were begun
	done    uint64        // the last one that succeeded, 0 for none
	shipped uint64        // commits that were there when that one began
	since   time.Time     // when the oldest commit may have been made that is not in the store; zero where all are
	err     error         // of the last round
	changed chan struct{} // closed when a round ends
}

// newShipper returns a shipper of a database whose commits nobody counts.
func newShipper(path, metaPath string, to *client) *shipper {
	db := litestream.NewDB(path)
	db.SetMetaPath(metaPath)
	db.MonitorInterval = 0            // run has it replicate
	db.BusyTimeout = 10 * time.Second // as all others wait for the writer
	db.Replica = litestream.NewReplicaWithClient(db, to)
	db.Replica.MonitorEnabled = false
	to.opening.Store(true)
	return &shipper{
		db: db, client: to, kick: make(chan struct{}, 1), changed: make(chan struct{}),
		commits: func() uint64 { return 0 },
		look:    func() func() { return func() {} },
		sent:    func(context.Context, ltx.TXID) error { return nil },
		ended:   func(error) {},
	}
}

// run replicates after each interval, and when somebody waits, until ctx ends.
func (s *shipper) run(ctx context.Context, interval time.Duration) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		case <-s.kick:
		}
		if s.round(ctx) == nil {
			continue
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retryInterval):
		}
	}
}

// sync has Litestream read what was added to the log. That is not stopped half-way: others could take away what was not read.
func (s *shipper) sync(ctx context.Context) error {
	s.syncing.Lock()
	defer s.syncing.Unlock()
	return s.db.Sync(context.WithoutCancel(ctx))
}

// round ships all that was committed before it.
func (s *shipper) round(ctx context.Context) error {
	began := time.Now()
	commits := s.commits()
	s.mu.Lock()
	s.rounds++
	number := s.rounds
	if commits != s.shipped && s.since.IsZero() {
		s.since = began
	}
	s.mu.Unlock()
	shipped := s.look()
	err := s.ship(ctx)
	if err == nil {
		shipped()
	}
	s.mu.Lock()
	s.err = err
	if err == nil {
		s.done, s.shipped, s.since = number, commits, time.Time{}
		if s.commits() != commits {
			s.since = began
		}
	}
	close(s.changed)
	s.changed = make(chan struct{})
	s.mu.Unlock()
	s.ended(err)
	return err
}

func (s *shipper) ship(ctx context.Context) error {
	if err := s.sync(ctx); err != nil {
		return fmt.Errorf("reading the log of %s: %w", s.client.folder, err)
	}
	s.client.opening.Store(false)
	if err := s.db.Replica.Sync(ctx); err != nil {
		return fmt.Errorf("sending %s: %w", s.client.folder, err)
	}
	return s.sent(ctx, s.db.Replica.Pos().TXID)
}

// shipAll replicates until the store has everything or ctx ends.
func (s *shipper) shipAll(ctx context.Context) error {
	for {
		err := s.round(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(retryInterval):
		}
	}
}

// lacks returns how many commits the store does not have. Those of other processes, which nobody counts, are at least one.
func (s *shipper) lacks() uint64 {
	_, commits := s.lag()
	if at, err := s.db.Pos(); commits == 0 && (err != nil || at.TXID > s.client.sent()) {
		return 1
	}
	return commits
}

// wait waits until the store has all that this process had committed when it was called. The error is ErrUnreplicated where ctx
// ends first.
func (s *shipper) wait(ctx context.Context) error {
	s.mu.Lock()
	if s.done > 0 && s.shipped == s.commits() {
		s.mu.Unlock()
		return nil
	}
	s.mu.Unlock()
	return s.flush(ctx)
}

// hurry begins a round soon if there is something to send, and waits for nothing.
func (s *shipper) hurry() {
	s.mu.Lock()
	pending := s.shipped != s.commits()
	s.mu.Unlock()
	if !pending {
		return
	}
	select {
	case s.kick <- struct{}{}:
	default:
	}
}

// flush is wait for what other processes have committed as well.
func (s *shipper) flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for want := s.rounds + 1; s.done < want; {
		changed, last := s.changed, s.err
		s.mu.Unlock()
		select {
		case s.kick <- struct{}{}:
		default:
		}
		select {
		case <-changed:
			s.mu.Lock()
		case <-ctx.Done():
			s.mu.Lock()
			return errors.Join(ErrUnreplicated, last)
		}
	}
	return nil
}
