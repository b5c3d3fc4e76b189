// Package doctor checks a data directory for problems and says how to fix them. It changes nothing, and the directory
// may be served meanwhile.
package doctor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"contactbase/internal/backup"
	"contactbase/internal/disk"
	"contactbase/internal/sqlite"
)

// How serious a finding is.
const (
	OK      = "ok"
	Warning = "warning" // the program works, but someone should look
	Failed  = "failed"
)

// Finding is the result of a check.
type Finding struct {
	Check  string
	Status string
	Found  string // a sentence without its full stop
	Advice string // what to do; "" for nothing
}

// examination is one check of a data directory.
type examination struct {
	dir             string
	key             string // of encrypted settings
	now             time.Time
	data, auxiliary *sql.DB
	findings        []Finding
}

// Examine checks the data directory. The key is that of encrypted settings, "" for none. The error says why it could
// not be checked.
func Examine(ctx context.Context, dataDir, key string, now time.Time) ([]Finding, error) {
	if _, err := os.Stat(filepath.Join(dataDir, "data.db")); errors.Is(err, fs.ErrNotExist) &&
		backup.CheckFolder(dataDir) == nil {
		return nil, fmt.Errorf("%s is not a data directory: it has no data.db; choose another with --dir", dataDir)
	}
	x := &examination{dir: dataDir, key: key, now: now}
	x.permissions() // before the databases are opened: closing one of their files would release their locks
	x.room()
	release, err := backup.Lock(dataDir)
	if err != nil {
		x.add("folder", Failed, err.Error(), "")
		return x.findings, nil
	}
	defer release()
	if !x.folder() {
		return x.findings, nil
	}
	if x.data, err = backup.OpenReadOnly(filepath.Join(dataDir, "data.db")); err != nil {
		return nil, err
	}
	defer func() { _ = x.data.Close() }()
	if x.auxiliary, err = backup.OpenReadOnly(filepath.Join(dataDir, "auxiliary.db")); err != nil {
		return nil, err
	}
	defer func() { _ = x.auxiliary.Close() }()
	if !x.integrity() {
		return x.findings, nil // the data cannot be trusted
	}
	current, err := x.version()
	if err != nil || !current {
		return x.findings, err
	}
	checks := []func() error{
		x.schema, x.orphans, x.contacts, x.names, x.clock, x.webhooks,
		x.fanOutLag, x.moving, x.mail, func() error { return x.replica(ctx) },
	}
	for _, check := range checks {
		if err := check(); err != nil {
			return nil, fmt.Errorf("reading the data directory %s: %w", dataDir, err)
		}
	}
	return x.findings, nil
}

// folder reports whether the databases can be checked.
func (x *examination) folder() bool {
	err := backup.CheckFolder(x.dir)
	if err == nil {
		if info, statErr := os.Stat(filepath.Join(x.dir, "data.db")); statErr == nil && info.Size() == 0 {
			err = errors.New("data.db is empty")
		}
	}
	if err == nil {
		return true
	}
	advice := x.restoring()
	if errors.Is(err, backup.ErrNewer) {
		advice = "run the version that wrote it, or restore a backup that was made before it"
	}
	x.add("folder", Failed, err.Error(), advice)
	return false
}

// restoring returns the advice for a lost database.
func (x *examination) restoring() string {
	backups := filepath.Join(x.dir, "backups")
	return fmt.Sprintf("stop the program, keep a copy of the data directory, "+
		"and restore the newest backup, such as one of %s: contactbase restore FILE --dir %s", backups, x.dir)
}

func (x *examination) add(check, status, found, advice string) {
	x.findings = append(x.findings, Finding{check, status, found, advice})
}

// permissions checks that this user can write to the data directory, and that nobody else can read it.
func (x *examination) permissions() {
	if err := backup.Probe(x.dir); err != nil {
		advice := "run this as the user that serves the data directory, or change its owner: chown -R USER " + x.dir
		switch {
		case errors.Is(err, syscall.ENOSPC):
			advice = "free disk space"
		case errors.Is(err, syscall.EROFS):
			advice = "mount the file system so that it can be written"
		}
		x.add("permissions", Failed, fmt.Sprintf("this user cannot write to %s: %v", x.dir, err), advice)
		return
	}
	exposed, err := backup.Exposed(x.dir)
	switch {
	case err != nil:
		x.add("permissions", Failed, err.Error(), "")
	case len(exposed) > 0:
		x.add("permissions", Warning, "other users of this machine may read "+strings.Join(exposed, ", "),
			"start the program, which removes these permissions; or run chmod -R go= "+x.dir)
	default:
		x.add("permissions", OK, "only this user may read and write", "")
	}
}

// With less free space than this share of the databases' size, or than this many bytes, the disk is too full.
const (
	leastRoom = 512 << 20
	roomShare = 2 // a backup needs a copy of the database and its archive
)

func (x *examination) room() {
	space, err := disk.Of(x.dir)
	if err != nil {
		x.add("disk", Failed, err.Error(), "")
		return
	}
	var used uint64
	for _, name := range []string{"data.db", "data.db-wal", "auxiliary.db", "auxiliary.db-wal"} {
		if info, err := os.Stat(filepath.Join(x.dir, name)); err == nil {
			used += uint64(info.Size())
		}
	}
	found := fmt.Sprintf("%d MiB are free, and the databases take %d MiB", space.Free>>20, used>>20)
	switch {
	case space.Free < leastRoom:
		x.add("disk", Failed, found, "free some disk space: the program cannot write without it")
	case space.Free < roomShare*used:
		x.add("disk", Warning, found,
			"free some disk space: a backup needs as much again, and an upgrade begins with a backup")
	default:
		x.add("disk", OK, found, "")
	}
}

// integrity runs SQLite's integrity check on both databases, and reports whether they are intact.
func (x *examination) integrity() bool {
	sound := true
	for name, db := range map[string]*sql.DB{"data.db": x.data, "auxiliary.db": x.auxiliary} {
		faults, err := sqlite.Values[string](db, "PRAGMA integrity_check(3)")
		if err != nil {
			faults = []string{err.Error()}
		}
		if len(faults) == 1 && faults[0] == "ok" {
			continue
		}
		sound = false
		advice := x.restoring()
		if name == "auxiliary.db" {
			advice = "it contains only the log: stop the program and move it away with its -wal and -shm"
		}
		x.add("integrity", Failed, name+": "+strings.Join(faults, "; "), advice)
	}
	if sound {
		x.add("integrity", OK, "both databases are intact", "")
	}
	return sound
}
