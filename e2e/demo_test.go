package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// inFolder returns a command that runs in a directory, with another directory for temporary files.
func inFolder(t *testing.T, dir, temp, path string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), path, args...)
	command.Dir = dir
	command.Env = testEnv("TMPDIR=" + temp)
	return command
}

// The commands that the demo prints work as pasted, and the demo leaves nothing behind.
func TestDemo(t *testing.T) {
	t.Parallel()
	temp := t.TempDir()
	address := freeAddress(t)
	demo := exec.Command(binary(t), "demo", "--http", address)
	demo.Dir = t.TempDir()
	demo.Env = testEnv("TMPDIR=" + temp)
	p := launch(t, demo)
	// the demo creates its contacts while it prints what to paste
	p.await("received and verified: contact.created Zoë Müller")
	p.await("appear here")

	printed := p.output.String()
	if !regexp.MustCompile(`cmk_[0-9A-Za-z]{36}`).MatchString(printed) || !strings.Contains(printed, "http://"+address) {
		t.Errorf("there is no key, or another address:\n%s", printed)
	}
	var export string
	var curls []string
	for line := range strings.Lines(printed) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "export "):
			export = line
		case strings.HasPrefix(line, "curl "):
			curls = append(curls, line)
		}
	}
	if export == "" || len(curls) < 3 {
		t.Fatalf("there is too little to paste:\n%s", printed)
	}
	shell := findTool(t, "sh")
	if shell == "" {
		t.Skip("there is no shell")
	}
	if findTool(t, "curl") == "" {
		t.Skip("there is no curl")
	}
	for _, line := range curls {
		got := finish(t, exec.CommandContext(t.Context(), shell, "-c", export+"\n"+line))
		answer := parse[map[string]any](t, got.stdout)
		if got.code != 0 || answer["data"] == nil {
			t.Errorf("%s exits with %d: %s%s", line, got.code, got.stdout, got.stderr)
		}
		if strings.Contains(line, "q=muller") && !strings.Contains(got.stdout, "Zoë Müller") {
			t.Errorf("%s returns %s", line, got.stdout)
		}
	}
	p.await("received and verified: contact.created Grace Hopper")
	if strings.Contains(p.output.String(), "wrong signature") {
		t.Errorf("a signature is wrong:\n%s", p.output)
	}
	p.stop()
	if left := listFolder(t, temp); len(left) > 0 {
		t.Errorf("the demo leaves %v behind", left)
	}
}

// The demo works only in a new directory of its own, because it deletes that directory.
func TestDemoLeavesOtherFoldersAlone(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.must("tenant", "create", "Precious")
	temp := t.TempDir()
	for _, args := range [][]string{
		{"demo", "--dir", i.data, "--http", "no address"},
		{"--dir", i.data, "demo", "--http", "no address"},
		{"--dir=" + i.data, "demo", "--help"},
		{"demo", "--dir", filepath.Join(temp, "new"), "--http", "no address"},
		{"demo", "--nonsense"},
	} {
		demo := exec.CommandContext(t.Context(), binary(t), args...)
		demo.Dir = t.TempDir()
		demo.Env = testEnv("TMPDIR=" + temp)
		p := launch(t, demo)
		if p.prints("appear here") { // fine, as long as it is not this folder
			p.stop()
		}
		if _, err := os.Stat(filepath.Join(i.data, "data.db")); err != nil {
			t.Fatalf("%v deletes a folder that is not its own: %v\n%s", args, err, p.output)
		}
	}
	if tenants := i.many("tenant", "list"); len(tenants) != 1 {
		t.Errorf("the tenants are %v", tenants)
	}
	if left := listFolder(t, temp); len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}

func listFolder(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, entry := range entries {
		found = append(found, entry.Name())
	}
	return found
}
