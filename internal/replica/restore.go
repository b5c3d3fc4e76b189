package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/superfly/ltx"

	"contactbase/internal/replica/shipping"
)

// Restored is the result of a restore.
type Restored struct {
	Generation int64
	Holder     string // host name of the machine that wrote it
	Rows       int64
}

// Restore restores the last position of the store to a new directory, and checks the databases. It works without a
// server, and does not disturb one.
func (r *Replica) Restore(ctx context.Context, folder string) (Restored, error) {
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return Restored{}, fmt.Errorf("%s is not empty; choose a new directory", folder)
	}
	found, _, err := r.readLock(ctx)
	if err != nil {
		return Restored{}, err
	}
	stored, err := r.storedPosition(ctx, r.store, found)
	if err != nil {
		return Restored{}, err
	}
	at, err := r.restorePosition(ctx, r.store, found)
	if err != nil {
		return Restored{}, err
	}
	if at.Transaction == 0 {
		return Restored{}, errors.New("the replica contains nothing that can be restored")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Restored{}, err
	}
	last := ltx.TXID(0) // the holder may have uploaded more
	if r.config.AcceptLoss.From.Generation > 0 {
		last = at.Transaction // there may be files after a gap
	}
	rows, err := r.restoreData(ctx, at.Generation, folder, last)
	if err != nil {
		return Restored{}, err
	}
	auxiliary := filepath.Join(folder, auxiliaryFile)
	if err := shipping.NewFiles(r.store, at.Generation, auxiliaryFile).Restore(ctx, auxiliary, 0, 0); err != nil {
		_ = os.Remove(auxiliary) // the request log starts empty
	}
	restored := &Replica{dataDir: folder}
	err = restored.save(identityName, identity{
		Folder: rand.Text(), Store: r.config.URL, Source: found.Folder, Restored: Loss{at, newLoss(found, stored).to()},
	})
	return Restored{Generation: at.Generation, Holder: found.Owner, Rows: total(rows)}, err
}

// restoreData restores data.db to a directory up to a transaction, checks it, and counts the rows of each table.
func (r *Replica) restoreData(
	ctx context.Context, generation int64, folder string, last ltx.TXID,
) (map[string]int64, error) {
	path := filepath.Join(folder, dataFile)
	if err := shipping.NewFiles(r.store, generation, dataFile).Restore(ctx, path, 0, last); err != nil {
		return nil, err
	}
	return checkAndCount(ctx, path)
}

// ReadStatus returns what the store says about its holder. It works without a server.
func (r *Replica) ReadStatus(ctx context.Context) (Status, error) {
	found, _, err := r.readLock(ctx)
	if err != nil {
		return Status{}, err
	}
	return Status{
		State: Following, Store: r.config.URL, Mode: r.config.Mode, Generation: found.Generation, Holder: found.Owner,
		RestoreTest: r.progress.restoreTest, Faults: []string{},
	}, nil
}
