// Command release builds all files of a version: executables for all systems, archives, Debian and RPM packages, a
// bill of materials of each executable, the notes, and checksums. The same commit gives the same bytes.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"contactbase/deploy/release/home"
)

// targets are the systems that a version is built for.
var targets = []target{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"},
	{"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	version := flag.String("version", "",
		"the version, such as 1.0.0; a pre-release such as 1.0.0-rc.1 has the unreleased changes as its notes")
	root := flag.String("root", "../..", "the folder of the sources")
	out := flag.String("out", "../../dist", "the folder to write to, which is emptied first")
	only := flag.String("target", "", "build for this system alone, such as linux/amd64")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *version, *root, *out, *only)
	stop()
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, version, root, out, only string) error {
	if _, err := semver.StrictNewVersion(version); err != nil {
		return fmt.Errorf("-version %q: %w", version, err)
	}
	at, err := commitTime(ctx, root)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	r := &release{version: version, root: root, out: out, at: at}
	if r.home, err = home.Read(root); err != nil {
		return err
	}
	if err := r.writeNotes(); err != nil {
		return err
	}
	if r.papers, err = r.listPapers(ctx); err != nil {
		return err
	}
	if r.manual, err = os.MkdirTemp("", "contactbase-manual-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.manual) }() // the system cleans its temporary files anyway
	if err := r.writeManual(ctx); err != nil {
		return err
	}
	for _, t := range targets {
		if only != "" && only != t.String() {
			continue
		}
		if err := r.make(ctx, t); err != nil {
			return fmt.Errorf("%s: %w", t, err)
		}
	}
	return r.writeChecksums()
}

// commitTime is when the sources were committed, or what SOURCE_DATE_EPOCH says.
// See https://reproducible-builds.org/docs/source-date-epoch/.
func commitTime(ctx context.Context, root string) (time.Time, error) {
	seconds := os.Getenv("SOURCE_DATE_EPOCH")
	if seconds == "" {
		out, err := exec.CommandContext(ctx, "git", "-C", root, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("asking git for the time of the commit: %w", err)
		}
		seconds = strings.TrimSpace(string(out))
	}
	unix, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the commit: %w", err)
	}
	return time.Unix(unix, 0).UTC(), nil
}

// release is a version that is being built.
type release struct {
	version string
	home    *home.Home
	root    string // of the sources
	papers  []string
	manual  string // a folder as writeManual leaves it
	out     string
	at      time.Time // of the commit, and of all files
}

// make makes all files for a system.
func (r *release) make(ctx context.Context, t target) error {
	binary, err := r.build(ctx, t)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(binary)) }() // the system cleans its temporary files anyway
	licensed, err := r.readLicenses(ctx, t)
	if err != nil {
		return err
	}
	if err := create(filepath.Join(filepath.Dir(binary), licensePaper), licensed.write); err != nil {
		return err
	}
	if err := r.writeBill(t, binary, licensed); err != nil {
		return err
	}
	if err := r.writeArchive(t, binary); err != nil {
		return err
	}
	if t.system != "linux" {
		return nil
	}
	return r.writePackages(t, binary)
}
