package replica

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"

	"github.com/benbjohnson/litestream"
	"github.com/superfly/ltx"

	"contactbase/internal/replica/store"
)

// Position is how far a database is: the last transaction of a generation that it holds. A position holds everything that earlier ones
// hold, unless an operator has accepted a loss between them.
type Position struct {
	Generation  int64
	Transaction ltx.TXID
}

// String returns the position as operators read and write it: generation/transaction.
func (p Position) String() string { return fmt.Sprintf("%d/%d", p.Generation, uint64(p.Transaction)) }

// MarshalText implements encoding.TextMarshaler.
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Position) UnmarshalText(text []byte) error {
	generation, transaction, _ := strings.Cut(string(text), "/")
	var err error
	p.Generation, err = strconv.ParseInt(generation, 10, 64)
	number, numberErr := strconv.ParseUint(transaction, 10, 64)
	p.Transaction = ltx.TXID(number)
	if err != nil || numberErr != nil {
		return fmt.Errorf("%q is not a position such as 2/500", text)
	}
	return nil
}

func (p Position) before(q Position) bool {
	return cmp.Or(cmp.Compare(p.Generation, q.Generation), cmp.Compare(p.Transaction, q.Transaction)) < 0
}

// Loss is what an operator accepts to lose: everything after one position, up to what was acknowledged last. It is the value of a flag,
// such as 1/57..2/500. Because it names what was acknowledged last, it applies once: whoever serves then acknowledges something later.
type Loss struct {
	From Position
	To   string // as lossError words it
}

// Set implements pflag.Value.
func (l *Loss) Set(text string) error {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		return fmt.Errorf("%q is not a range of positions such as 1/57..2/500: copy the value from the error message", text)
	}
	var position Position
	if err := position.UnmarshalText([]byte(from)); err != nil {
		return err
	}
	if position.Generation < 1 {
		return fmt.Errorf("%q is not a position: generations are counted from 1", from)
	}
	*l = Loss{position, to}
	return nil
}

// String implements pflag.Value.
func (l *Loss) String() string {
	if l.From.Generation == 0 {
		return ""
	}
	return l.From.String() + ".." + l.To
}

// Type implements pflag.Value.
func (l *Loss) Type() string { return "positions" }

// The databases that a lossError is about.
const (
	theReplica       = "the replica"
	theDataDirectory = "the data directory"
)

// lossError is the error of a database that lacks something that was acknowledged.
type lossError struct {
	where        string   // theReplica or theDataDirectory
	found        Position // how far that is; zero for nothing
	acknowledged Position // what was acknowledged last; zero where nobody knows
	unshipped    uint64   // commits that were answered after that, and that the store never got
}

// to words how far the database has to be.
func (e *lossError) to() string {
	switch {
	case e.acknowledged.Generation == 0:
		return ""
	case e.unshipped > 0:
		return fmt.Sprintf("%s+%d", e.acknowledged, e.unshipped)
	default:
		return e.acknowledged.String()
	}
}

// Error implements error.
func (e *lossError) Error() string {
	expected := "the last acknowledged position is unknown because " + lockName + " is missing from the store"
	remedy := "start the machine that served last"
	switch {
	case e.unshipped > 0:
		expected = fmt.Sprintf("the last machine to serve stopped before %d transactions reached the replica", e.unshipped)
		if e.acknowledged.Generation > 0 {
			expected += " (" + e.to() + ")"
		}
		remedy = "start that machine again"
	case e.acknowledged.Generation > 0:
		expected = fmt.Sprintf("writes up to %s were acknowledged", e.acknowledged)
	}
	if e.where == theDataDirectory {
		remedy = "restore the replica into a new directory"
	}
	if e.found.Generation == 0 {
		return fmt.Sprintf("%s contains nothing that can be restored, but %s: %s, or check the bucket and folder of --replica and the credentials", e.where, expected, remedy)
	}
	return fmt.Sprintf("%s ends at %s, but %s: %s, or accept the loss with --replicaAcceptLoss=%s..%s", e.where, e.found, expected, remedy, e.found, e.to())
}

// accepted returns nil where the operator has accepted this loss, or a larger one up to the same position, and e otherwise.
func (e *lossError) accepted(l Loss) error {
	if l.From.Generation > 0 && !e.found.before(l.From) && l.To == e.to() {
		return nil
	}
	return e
}

// extent is what a store has of a database in a generation.
type extent struct {
	whole  ltx.TXID // up to which transaction it can be restored, 0 for not at all
	newest ltx.TXID // the last one that the store has, over all levels; later than whole where files are missing
}

// extent returns what the store has of the database. All levels are listed at once.
func (c *client) extent(ctx context.Context) (found extent, err error) {
	var files []*ltx.FileInfo
	var mu sync.Mutex
	var listing sync.WaitGroup
	for level := 0; level <= litestream.SnapshotLevel; level++ {
		listing.Go(func() {
			some, listErr := c.files(ctx, level)
			mu.Lock()
			defer mu.Unlock()
			files, err = append(files, some...), errors.Join(err, listErr)
		})
	}
	listing.Wait()
	if err != nil {
		return extent{}, err
	}
	for grown := true; grown; {
		grown = false
		for _, file := range files {
			found.newest = max(found.newest, file.MaxTXID)
			if file.MinTXID <= found.whole+1 && file.MaxTXID > found.whole {
				found.whole, grown = file.MaxTXID, true
			}
		}
	}
	return found, nil
}

// files returns the files that the store has of a level.
func (c *client) files(ctx context.Context, level int) (files []*ltx.FileInfo, err error) {
	objects, err := c.store.List(ctx, litestream.LTXLevelDir(c.folder, level))
	for _, object := range objects {
		first, last, parseErr := ltx.ParseFilename(path.Base(object.Name))
		if parseErr != nil {
			continue
		}
		files = append(files, &ltx.FileInfo{Level: level, MinTXID: first, MaxTXID: last, Size: object.Size, CreatedAt: object.Modified.UTC()})
	}
	return files, err
}

// latest returns the position that has to be restored from the store, which found is the record of. It is zero where nothing was ever
// replicated. Where it is earlier than what was acknowledged, or files before the newest one are missing, the error is a lossError,
// unless the operator has accepted that loss.
//
// Only the present generation and the one that it began with are considered. A holder acknowledges nothing of its generation before the
// record says that the store has some of it; so a generation of which the store has nothing may be passed over only while the record
// does not say that.
func (r *Replica) latest(ctx context.Context, from store.Store, found lockRecord) (Position, error) {
	at, expected := Position{Generation: found.Generation}, found.acknowledged()
	has, err := clientOf(from, at.Generation, dataFile).extent(ctx)
	if err == nil && has.newest == 0 && found.Position == 0 {
		at.Generation = found.From.Generation
		has, err = clientOf(from, at.Generation, dataFile).extent(ctx)
	}
	if err != nil {
		return Position{}, err
	}
	at.Transaction = has.whole
	if newest := (Position{at.Generation, has.newest}); expected.before(newest) {
		expected = newest
	}
	if found.Generation > 0 && found.Unshipped == 0 && !at.before(expected) {
		return at, nil
	}
	if at.Transaction == 0 {
		if at, err = newestWhole(ctx, from); err != nil {
			return Position{}, err
		}
	}
	lost := &lossError{where: theReplica, found: at, acknowledged: expected, unshipped: found.Unshipped}
	return at, lost.accepted(r.config.AcceptLoss)
}

// standing returns the position of the data directory's own databases, and what the store, which found is the record of, has of them at
// least. A directory whose databases are earlier than that was set back.
func (r *Replica) standing(ctx context.Context, from store.Store, own identity, found lockRecord) (local, stored Position, err error) {
	if local, err = r.local(own); err != nil {
		return local, stored, err
	}
	stored = found.acknowledged()
	has, err := clientOf(from, found.Generation, dataFile).extent(ctx)
	if newest := (Position{found.Generation, has.newest}); has.newest > 0 && stored.before(newest) {
		stored = newest
	}
	return local, stored, err
}

// newestWhole returns the position of the newest generation that can be restored, whatever was acknowledged after it.
func newestWhole(ctx context.Context, from store.Store) (Position, error) {
	all, err := generations(ctx, from)
	if err != nil {
		return Position{}, err
	}
	for _, generation := range all {
		has, err := clientOf(from, generation, dataFile).extent(ctx)
		if err != nil || has.whole > 0 {
			return Position{generation, has.whole}, err
		}
	}
	return Position{}, nil
}

// local returns the position of the databases in the data directory, which is zero unless a generation of this store began with them.
// Litestream syncs its files of a transaction to the disk before it sends them, so that this is never earlier than what the store has
// of them, unless the directory was set back.
func (r *Replica) local(own identity) (Position, error) {
	if own.Generation <= 0 {
		return Position{}, nil
	}
	db := litestream.NewDB(r.path(dataFile)) // of which only the files beside it are read
	db.SetMetaPath(r.path(dataFile))
	_, last, err := db.MaxLTX()
	return Position{own.Generation, last}, err
}
