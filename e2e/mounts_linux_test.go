package e2e

import (
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A data directory that is a link is backed up, upgraded and restored like any other.
func TestDataDirectoryIsALink(t *testing.T) {
	t.Parallel()
	i, _, _ := newKey(t)
	disk := filepath.Join(t.TempDir(), "disk")
	if err := os.Rename(i.data, disk); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(disk, i.data); err != nil {
		t.Fatal(err)
	}
	public := filepath.Join(filepath.Dir(i.data), "pb_public") // beside the link
	if err := errors.Join(os.Mkdir(public, 0o700), os.WriteFile(filepath.Join(public, "mine.txt"), []byte("mine"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s := i.serve()
	s.client("").expect(http.StatusOK, http.MethodGet, "/mine.txt", "")
	s.end()
	archive := str(t, i.one("backup"), "path")
	if got := i.later().run("tenant", "list"); got.code != 0 { // upgrades after a backup
		t.Fatalf("the upgrade prints %s%s", got.stdout, got.stderr)
	}
	if made, err := filepath.Glob(filepath.Join(disk, "backups", "*.zip")); err != nil || len(made) != 2 {
		t.Errorf("there are the backups %v (%v)", made, err)
	}
	i.program = nil
	kept := str(t, i.one("restore", archive), "previous")
	if filepath.Dir(kept) != filepath.Dir(disk) {
		t.Errorf("the previous content is in %s", kept)
	}
	if info, err := os.Lstat(i.data); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link has become %v (%v)", info, err)
	}
	i.must("tenant", "list")
}

// mountedSteps runs with a data directory $data in which file systems are mounted. It backs up, upgrades and restores.
const mountedSteps = `
mkdir -p $data/storage $data/backups
mount -t tmpfs tmpfs $data/storage
mount -t tmpfs tmpfs $data/backups
mkdir -p $data/storage/lost+found $data/storage/c/deep $data/storage/c/r
mount -t tmpfs tmpfs $data/storage/c/deep
echo lost >$data/storage/lost+found/x
echo first >$data/storage/c/r/file
echo first >$data/storage/c/deep/file
$program backup --dir $data >/dev/null
archive=$(ls $data/backups/*.zip)
echo second >$data/storage/c/r/file
echo second >$data/storage/c/deep/more
$later tenant list --dir $data >/dev/null
echo $(ls $data/backups/*.zip | wc -l) backups
$program restore $archive --dir $data >/dev/null
cat $data/storage/c/r/file $data/storage/c/deep/file $data/storage/lost+found/x
ls $data/storage/c/deep
mountpoint -q $data/storage/c/deep
mountpoint -q $data/storage
cat $data.before-restore-*/storage/c/r/file $data.before-restore-*/storage/c/deep/more
$program doctor --dir $data >/dev/null
$program tenant list --dir $data >/dev/null
`

// File systems may be mounted anywhere in the data directory.
func TestMountsInTheDataDirectory(t *testing.T) {
	t.Parallel()
	needRoot(t)
	i, _, _ := newKey(t)
	later, err := buildLater()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("unshare", "--mount", "true").CombinedOutput(); err != nil {
		t.Skipf("file systems cannot be mounted here: %v %s", err, out)
	}
	command := exec.Command("unshare", "--mount", "--propagation=private", "sh", "-ec", mountedSteps)
	command.Env = testEnv("program="+binary(t), "later="+later, "data="+i.data)
	out, err := command.CombinedOutput()
	if want := "2 backups\nfirst\nfirst\nlost\nfile\nsecond\nsecond\n"; err != nil || !strings.HasSuffix(string(out), want) {
		t.Errorf("it prints %s, not %s (%v)", out, want, err)
	}
}
