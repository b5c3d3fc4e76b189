package replica

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"contactbase/internal/lockfile"
)

const (
	identityName   = "folder.json" // the identity of the data directory
	standbyName    = "standby"     // exists while the data directory belongs to a standby
	serverLockName = "server.lock" // locked by the process that replicates the data directory, or stands by with it
	jsonMode       = fs.FileMode(0o600)
)

// identity connects a data directory with its store.
type identity struct {
	Folder     string `json:"folder"` // random
	Store      string `json:"store"`
	Generation int64  `json:"generation"` // that began with its databases; 0 for none, or unusable

	// Until a restored data directory begins a generation:
	Source string `json:"source,omitempty"` // identity of the data directory whose replica was restored
	// from the restored position to what the replica had then, whose loss was accepted
	Restored Loss `json:"restored,omitzero"`
}

// wrote reports whether the data directory wrote the newest data in a store, given its lock record.
func (own identity) wrote(found lockRecord, stored Position) bool {
	if found.Generation == 0 { // lock.json was lost
		return own.Generation > 0 && own.Generation >= stored.Generation
	}
	return own.Generation > 0 && own.Folder == found.Folder
}

// isRestoredFrom reports whether the data directory was restored from a store, and has not begun a generation since.
func (own identity) isRestoredFrom(found lockRecord) bool {
	return own.Generation == 0 && own.Restored.From.Generation > 0 &&
		(found.Generation == 0 || found.Folder == own.Source || found.Folder == own.Folder)
}

// unusable is the generation of a data directory whose databases are being replaced.
const unusable = -1

// readIdentity returns the identity of the data directory. It is a new one, of generation 0, if the directory has no
// database or has nothing to do with this store. The store may have another address than before: then its last holder
// is known, "" if it is not.
func (r *Replica) readIdentity(holder string) (identity, error) {
	unknown := identity{Folder: rand.Text(), Store: r.config.URL}
	content, err := os.ReadFile(r.path(identityName))
	if errors.Is(err, fs.ErrNotExist) {
		return unknown, nil
	}
	if err != nil {
		return unknown, err
	}
	var known identity
	if err := json.Unmarshal(content, &known); err != nil {
		return unknown, fmt.Errorf("%s is not valid: %w", r.path(identityName), err)
	}
	if !r.hasData() || known.Store != r.config.URL && (holder == "" || holder != known.Folder && holder != known.Source) {
		return unknown, nil
	}
	return known, nil
}

func (r *Replica) hasData() bool {
	info, err := os.Stat(filepath.Join(r.dataDir, dataFile))
	return err == nil && info.Size() > 0
}

// save replaces a file of this package atomically.
func (r *Replica) save(name string, content any) error {
	encoded, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.path(""), 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(r.path(name)+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, jsonMode)
	if err != nil {
		return err
	}
	_, err = file.Write(encoded)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), r.path(name))
}

// lockDataDir makes this process the only one that replicates the data directory: two would upload parts of one WAL
// to the same files.
func (r *Replica) lockDataDir() (unlock func(), err error) {
	if err := os.MkdirAll(r.path(""), 0o700); err != nil {
		return nil, err
	}
	unlock, err = lockfile.Own(r.path(serverLockName))
	if errors.Is(err, lockfile.ErrHeld) {
		return nil, fmt.Errorf("another server replicates the data directory %s: stop it first", r.dataDir)
	}
	return unlock, err
}

// CheckFolder returns ErrStandby if the data directory belongs to a standby.
func CheckFolder(dataDir string) error {
	if _, err := os.Stat(filepath.Join(dataDir, folderName, standbyName)); err == nil {
		return fmt.Errorf("%w: run commands on the machine that serves; "+
			"if that machine is lost, start serve here with its --lease and --replica", ErrStandby)
	}
	return nil
}
