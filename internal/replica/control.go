package replica

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"contactbase/internal/replica/control"
)

// controlName is the file in which commands find the address of the server.
const controlName = "control.json"

// listen serves commands that can read the data directory.
func (r *Replica) listen() (*control.Server, error) {
	server, err := control.Listen(map[string]control.Function{
		"status": func(context.Context) (any, error) { return r.Status(), nil },
		"drill":  func(ctx context.Context) (any, error) { return r.TestRestore(ctx) },
		"flush":  func(ctx context.Context) (any, error) { return struct{}{}, r.AcknowledgeAll(ctx) },
	})
	if err != nil {
		return nil, err
	}
	if err := r.save(controlName, server.Address); err != nil {
		return nil, errors.Join(err, server.Close())
	}
	return server, nil
}

// stopListening ends the server for commands.
func (r *Replica) stopListening() {
	_ = r.replication.control.Close()
	_ = os.Remove(r.path(controlName)) // the next server replaces it
}

func callServer(ctx context.Context, dataDir, function string, result any) error {
	return control.Call(ctx, filepath.Join(dataDir, folderName, controlName), function, result)
}

// RequestStatus returns the status of the replica from the server of the data directory. The error is ErrNotServed
// if there is none.
func RequestStatus(ctx context.Context, dataDir string) (found Status, err error) {
	err = callServer(ctx, dataDir, "status", &found)
	return found, err
}

// RequestRestoreTest makes the server of the data directory run a restore test, and returns the result. The error is
// ErrNotServed if there is none.
func RequestRestoreTest(ctx context.Context, dataDir string) (found RestoreTest, err error) {
	err = callServer(ctx, dataDir, "drill", &found)
	return found, err
}

// Flush returns once the store has the writes of a command to the data directory. It does nothing unless a server
// with --replicaMode=sync has the directory open.
func Flush(ctx context.Context, dataDir string) error {
	err := callServer(ctx, dataDir, "flush", &struct{}{})
	if errors.Is(err, ErrNotServed) {
		return nil
	}
	return err
}
