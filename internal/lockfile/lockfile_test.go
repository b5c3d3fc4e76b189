package lockfile_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"contactbase/internal/lockfile"
)

// pathEnv makes the test binary lock this file and wait to be killed.
const pathEnv = "CONTACTBASE_TEST_LOCK"

func TestMain(m *testing.M) {
	if path := os.Getenv(pathEnv); path != "" {
		release, err := lockfile.Own(path)
		if err != nil {
			os.Exit(1)
		}
		fmt.Println("locked")
		_, _ = io.Copy(io.Discard, os.Stdin) // it ends when the parent does
		release()
		return
	}
	os.Exit(m.Run())
}

func TestShareAndOwn(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := lockfile.Share(path)
	if err != nil {
		t.Fatal(err)
	}
	second, err := lockfile.Share(path)
	if err != nil {
		t.Fatal(err)
	}
	first()
	if _, err := lockfile.Own(path); !errors.Is(err, lockfile.ErrHeld) {
		t.Errorf("a file that somebody shares: %v", err)
	}
	second()
	second() // changes nothing
	alone, err := lockfile.Own(path)
	if err != nil {
		t.Fatal(err)
	}
	for what, lock := range map[string]func(string) (func(), error){"Share": lockfile.Share, "Own": lockfile.Own} {
		if _, err := lock(path); !errors.Is(err, lockfile.ErrHeld) {
			t.Errorf("%s of a file that somebody has alone: %v", what, err)
		}
	}
	if content, err := os.ReadFile(path); err != nil || len(content) != 0 { // closes another handle of it
		t.Errorf("the file holds %q, %v", content, err)
	}
	if _, err := lockfile.Own(path); !errors.Is(err, lockfile.ErrHeld) {
		t.Errorf("after another handle was closed: %v", err)
	}
	alone()
	info, err := os.Stat(path)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the file has %v, %v", info, err)
	}
	if _, err := lockfile.Own(filepath.Join(path, "beyond")); err == nil || errors.Is(err, lockfile.ErrHeld) {
		t.Errorf("a file that cannot be made: %v", err)
	}
	if _, err := lockfile.Share(filepath.Join(t.TempDir(), "no folder", "lock")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file without a folder: %v", err)
	}
}

func TestALockEndsWithItsProcess(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	other := exec.Command(os.Args[0])
	other.Env = append(os.Environ(), pathEnv+"="+path)
	out, err := other.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, held := lockfile.Own(path); err != nil || !errors.Is(held, lockfile.ErrHeld) {
		t.Errorf("while the other process is there (%q, %v): %v", line, err, held)
	}
	if err := other.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = other.Wait() // it was killed
	release, err := lockfile.Own(path)
	if err != nil {
		t.Fatal(err)
	}
	release()
}
