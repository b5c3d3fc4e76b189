package home

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// machine is a fresh Debian, in namespaces of its own and with its own systemd, without any network but its loopback.
type machine struct {
	t   *testing.T
	pid string // of its systemd, as this machine counts
}

// packages are what the machine has besides the essential packages: an administrator's usual tools, and no Go.
const packages = "ca-certificates,curl,dbus,gnupg,rpm,sudo,systemd,systemd-sysv"

// boot runs as root in new namespaces, with the directories of the base and of the machine.
const boot = `
mount -t tmpfs tmpfs "$2"
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" overlay "$2/root"
cd "$2/root"
mount -t proc proc proc
mount -t sysfs sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do touch "dev/$device" && mount --bind "/dev/$device" "dev/$device"; done
mkdir dev/shm dev/pts old
ln -s /proc/self/fd dev/fd
ln -s pts/ptmx dev/ptmx
mount -t tmpfs tmpfs dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
echo "127.0.0.1 localhost $(hostname)" >etc/hosts
pivot_root . old
umount -l old
exec env -i container=rehearsal PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=multi-user.target
`

// newMachine boots a machine, which ends with the test.
func newMachine(t *testing.T) *machine {
	t.Helper()
	base := debian(t)
	groups, err := exec.Command("findmnt", "--noheadings", "--first-only", "--output=TARGET", "--types=cgroup2").Output()
	if err != nil {
		t.Fatalf("looking for cgroup2: %v", err)
	}
	group := filepath.Join(strings.TrimSpace(string(groups)), fmt.Sprint("rehearsal-", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Fatal(err)
	}
	// the namespace of the group begins at the group, so that systemd sees none of this machine's
	enter := `echo $$ >"$3/cgroup.procs"; exec unshare --mount --pid --net --uts --ipc --cgroup --fork --kill-child sh -euc '` + boot + `' sh "$1" "$2"`
	command := exec.Command("sh", "-euc", enter, "sh", base, t.TempDir(), group)
	console, err := os.Create(filepath.Join(t.TempDir(), "console"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stdout, command.Stderr = console, console
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // killed
		await(t, "the end of the machine", func() bool { return removeGroup(group) == nil })
	})
	m := &machine{t: t}
	await(t, "the machine", func() bool {
		children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", command.Process.Pid)) // none yet
		m.pid = strings.TrimSpace(string(children))
		if m.pid == "" {
			return false
		}
		out, err := m.enter("systemctl is-system-running").CombinedOutput()
		state := strings.TrimSpace(string(out))
		return state == "running" || err != nil && state == "degraded"
	})
	return m
}

// removeGroup removes a cgroup with those below it.
func removeGroup(group string) error {
	below, err := filepath.Glob(filepath.Join(group, "*", "cgroup.procs"))
	if err != nil {
		return err
	}
	for _, file := range below {
		if err := removeGroup(filepath.Dir(file)); err != nil {
			return err
		}
	}
	return os.Remove(group)
}

// debian returns the directory of a fresh Debian, which is made once and kept in the user's cache.
func debian(t *testing.T) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(cache, "contactbase-rehearsal", "bookworm")
	if _, err := os.Stat(base); err == nil {
		return base
	}
	t.Logf("making %s, which takes a few minutes", base)
	if err := os.RemoveAll(base + ".part"); err != nil {
		t.Fatal(err)
	}
	run(t, "/", nil, "debootstrap", "--variant=minbase", "--include="+packages, "bookworm", base+".part")
	if err := os.Remove(filepath.Join(base+".part", "etc/apt/sources.list")); err != nil { // it reaches no mirror
		t.Fatal(err)
	}
	if err := os.Rename(base+".part", base); err != nil {
		t.Fatal(err)
	}
	return base
}

// enter returns a command that runs lines of a guide on the machine, in root's home, and stops at the first that fails.
func (m *machine) enter(lines string) *exec.Cmd {
	return exec.CommandContext(m.t.Context(), "nsenter", "--target="+m.pid, "--mount", "--pid", "--net", "--uts", "--ipc", "--cgroup", "--root",
		"env", "-i", "HOME=/root", "LANG=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "bash", "-euo", "pipefail", "-c", "cd; "+lines)
}

// run runs lines of a guide, which must succeed, and returns what they print.
func (m *machine) run(lines string) string {
	m.t.Helper()
	out, err := m.enter(lines).CombinedOutput()
	if err != nil {
		journal, _ := m.enter("journalctl --no-pager --lines=20 --unit=contactbase").CombinedOutput() // which may be empty
		m.t.Fatalf("%v:\n%s\nprints\n%s\n%s", err, lines, out, journal)
	}
	return string(out)
}

// fails runs lines, and expects an error with the text.
func (m *machine) fails(lines, text string) {
	m.t.Helper()
	if out, err := m.enter(lines).CombinedOutput(); err == nil || !strings.Contains(string(out), text) {
		m.t.Errorf("%s prints %s (%v), and not %q", lines, out, err, text)
	}
}

// listen serves HTTP on the loopback of the machine until the test ends, and returns the URL.
func (m *machine) listen(handler http.Handler) string {
	m.t.Helper()
	type result struct {
		net.Listener
		error
	}
	listened := make(chan result)
	go func() {
		runtime.LockOSThread() // and never unlocks it, so that the thread ends with its namespace
		space, err := os.Open("/proc/" + m.pid + "/ns/net")
		if err != nil {
			listened <- result{nil, err}
			return
		}
		defer space.Close()
		if err := unix.Setns(int(space.Fd()), unix.CLONE_NEWNET); err != nil {
			listened <- result{nil, err}
			return
		}
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		listened <- result{listener, err}
	}()
	got := <-listened
	if got.error != nil {
		m.t.Fatal(got.error)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(got.Listener) }() // until it is closed
	m.t.Cleanup(func() { _ = server.Close() })
	return "http://" + got.Addr().String()
}

// either matches a line with another one for RPM in its comment.
var either = regexp.MustCompile(`(?m)^.*# or: (sudo rpm .*)$`)

// forRPM returns lines of a guide as a user of RPM reads them. Debian's rpm wants to hear that it is meant.
func forRPM(lines string) string {
	return strings.ReplaceAll(either.ReplaceAllString(lines, "$1"), "sudo rpm ", "sudo rpm --force-debian ")
}
