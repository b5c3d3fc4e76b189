package replica

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/benbjohnson/litestream"
)

// Restored is what a restore came to.
type Restored struct {
	Generation int64
	Holder     string // who wrote it
	Rows       int64
}

// Restore puts the databases that the store has last into a new folder, and checks them. It needs no server, and hinders none.
func (r *Replica) Restore(ctx context.Context, folder string) (Restored, error) {
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return Restored{}, fmt.Errorf("%s is not empty", folder)
	}
	found, _, err := r.readLock(ctx)
	if err != nil {
		return Restored{}, err
	}
	at, err := r.latest(ctx, r.store, found)
	if err != nil {
		return Restored{}, err
	}
	if at.Transaction == 0 {
		return Restored{}, errors.New("the replica contains nothing that can be restored")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return Restored{}, err
	}
	options := litestream.NewRestoreOptions()
	options.OutputPath = filepath.Join(folder, dataFile)
	if r.config.AcceptLoss.From.Generation > 0 { // there may be files behind a gap; otherwise the holder may have sent more
		options.TXID = at.Transaction
	}
	if err := restore(ctx, r.client(at.Generation, dataFile), options); err != nil {
		return Restored{}, err
	}
	rows, err := examine(ctx, options.OutputPath)
	if err != nil {
		return Restored{}, err
	}
	options.OutputPath, options.TXID = filepath.Join(folder, auxiliaryFile), 0
	if err := restore(ctx, r.client(at.Generation, auxiliaryFile), options); err != nil {
		_ = os.Remove(options.OutputPath) // the log begins anew
	}
	done := Restored{Generation: at.Generation, Holder: found.Owner}
	for _, count := range rows {
		done.Rows += count
	}
	return done, nil
}

// Look tells what the store says of who writes it. It needs no server.
func (r *Replica) Look(ctx context.Context) (Status, error) {
	found, _, err := r.readLock(ctx)
	if err != nil {
		return Status{}, err
	}
	return Status{State: Following, Store: r.config.URL, Mode: r.config.Mode, Generation: found.Generation, Holder: found.Owner, RestoreTest: r.restoreTest, Faults: []string{}}, nil
}
