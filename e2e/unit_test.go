//go:build linux

package e2e

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Under the service's filter of system calls, a user that is not root can run the program: it makes no call
// that the unit denies.
func TestUnitAllowsSystemCalls(t *testing.T) {
	t.Parallel()
	needRoot(t)
	for _, tool := range []string{"strace", "systemd-analyze"} {
		if findTool(t, tool) == "" {
			t.Skip("there is no " + tool)
		}
	}
	allowed := allowedCalls(t)
	folder := t.TempDir()
	for _, path := range []string{filepath.Dir(folder), folder} {
		if err := os.Chmod(path, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	counts := filepath.Join(t.TempDir(), "counts")
	program := openly(t)
	i := &installation{t: t, data: filepath.Join(folder, "pb_data")}
	i.program = []string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", program}
	i.superuser()
	i.must("tenant", "create", "Acme")
	key := str(t, i.one("key", "create", "Acme"), "key")
	r := newReceiver(t)
	r.set(str(t, i.one("webhook", "create", "Acme", r.URL), "secret"), nil)
	i.program = []string{"strace", "--user=nobody", "--follow-forks", "--summary-only", "--summary-columns=name", "--output=" + counts, program}
	s := i.serve()
	s.client(key).expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada Lovelace"}`)
	s.client(key).expect(http.StatusOK, http.MethodGet, contactsPath+"?q=ada", "")
	s.signIn().expect(http.StatusNoContent, http.MethodPost, "/api/backups", `{"name":"all.zip"}`)
	r.await(t, "the receiver", atLeast(1))
	s.interrupt(t)

	summary, err := os.ReadFile(counts)
	if err != nil {
		t.Fatal(err)
	}
	made := 0
	for line := range strings.Lines(string(summary)) {
		call := strings.TrimSpace(line)
		// also a thread's last call, if strace detaches from it
		if call == "syscall" || call == "total" || !callName.MatchString(call) {
			continue
		}
		if made++; !allowed[call] {
			t.Errorf("the unit denies %s", call)
		}
	}
	if made < 20 {
		t.Errorf("only %d system calls were made:\n%s", made, summary)
	}
}

var callName = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)

// contactbase-admin runs a command like the service: with its user, working directory and settings. It does not
// expand systemd's variables, and logs nothing of the command.
func TestAdminRunsAsTheService(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	const stub = "#!/bin/sh\nprintf '%s\\n' \"$@\"\n"
	if err := os.WriteFile(filepath.Join(folder, "systemd-run"), []byte(stub), 0o755); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "../deploy/package/contactbase-admin", "superuser", "upsert", "a@example.com", "pa ss$HOME '%n")
	command.Env = []string{"PATH=" + folder + ":" + os.Getenv("PATH")}
	given := finish(t, command)
	options, asked, found := strings.Cut(given.stdout, "/usr/bin/contactbase\n")
	if !found || asked != "superuser\nupsert\na@example.com\npa ss$$HOME '%n\n" {
		t.Fatalf("systemd is given %q %s", given.stdout, given.stderr)
	}
	if !strings.Contains(options, "--description=") {
		t.Error("the log would have the command")
	}
	unit, err := os.ReadFile("../deploy/systemd/contactbase.service")
	if err != nil {
		t.Fatal(err)
	}
	service := strings.ReplaceAll(string(unit), "%S", "/var/lib")
	for _, setting := range []string{"DynamicUser", "StateDirectory", "StateDirectoryMode", "UMask", "Environment", "EnvironmentFile"} {
		match := regexp.MustCompile("(?m)^" + setting + "=(.*)$").FindStringSubmatch(service)
		if match == nil || !strings.Contains(options, "--property="+match[0]+"\n") {
			t.Errorf("the service has %v, and systemd is given\n%s", match, options)
		}
	}
	if !strings.Contains(options, "--property=User=contactbase\n") { // the service is called so, and its user after it
		t.Errorf("the user is another than that of contactbase.service:\n%s", options)
	}
}

// openly returns a copy of the program that any user can run.
func openly(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	path := filepath.Join(folder, "contactbase")
	content, err := os.ReadFile(binary(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, content, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// interrupt stops a server under strace, which ignores the signal itself.
func (s *server) interrupt(t *testing.T) {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", s.command.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for child := range strings.FieldsSeq(string(children)) {
		if out, err := exec.CommandContext(t.Context(), "kill", child).CombinedOutput(); err != nil {
			t.Fatalf("kill %s: %v %s", child, err, out)
		}
	}
	<-s.ended
}

// allowedCalls returns the system calls that the unit allows. Lists that begin with ~ are excluded.
func allowedCalls(t *testing.T) map[string]bool {
	t.Helper()
	unit, err := os.ReadFile("../deploy/systemd/contactbase.service")
	if err != nil {
		t.Fatal(err)
	}
	allowed := map[string]bool{}
	for line := range strings.Lines(string(unit)) {
		list, isFilter := strings.CutPrefix(strings.TrimSpace(line), "SystemCallFilter=")
		if !isFilter {
			continue
		}
		list, taken := strings.CutPrefix(list, "~")
		for name := range strings.FieldsSeq(list) {
			for _, call := range expand(t, name) {
				allowed[call] = !taken
			}
		}
	}
	return allowed
}

// expand returns the system calls of a group such as @system-service.
func expand(t *testing.T, name string) []string {
	t.Helper()
	if !strings.HasPrefix(name, "@") {
		return []string{name}
	}
	out, err := exec.CommandContext(t.Context(), "systemd-analyze", "syscall-filter", "--no-pager", name).Output()
	if err != nil {
		t.Fatalf("systemd-analyze syscall-filter %s: %v", name, err)
	}
	var calls []string
	for line := range strings.Lines(string(out)) {
		if entry := strings.TrimSpace(line); entry != "" && entry != name && !strings.HasPrefix(entry, "#") && !strings.HasPrefix(entry, name+" ") {
			calls = append(calls, expand(t, entry)...)
		}
	}
	return calls
}
