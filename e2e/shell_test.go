package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// A server without a superuser prints a link for creating one, once.
func TestFirstSuperuser(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.args, i.env = []string{"--encryptionEnv", "CB_KEY"}, []string{"CB_KEY=0123456789abcdef0123456789abcdef"}
	s := i.serve()
	s.await("Or create one in a shell:")
	s.await(" --dir " + i.data + " --encryptionEnv CB_KEY\n")
	found := regexp.MustCompile(regexp.QuoteMeta(s.base) + `/_/#/pbinstall/(\S+)`).FindStringSubmatch(s.output.String())
	if found == nil {
		t.Fatalf("there is no link:\n%s", s.output)
	}
	c := s.client("")
	c.header["Authorization"] = found[1]
	create := func(email string) int {
		body := `{"email":"` + email + `","password":"` + superuserPassword + `","passwordConfirm":"` + superuserPassword + `"}`
		return c.do(http.MethodPost, "/api/collections/_superusers/records", body).status
	}
	if got := create(superuserEmail); got != http.StatusOK {
		t.Errorf("the link returns %d", got)
	}
	if got := create("second@example.com"); got != http.StatusForbidden && got != http.StatusUnauthorized {
		t.Errorf("used again, the link returns %d", got)
	}
	s.signIn()
	s.stop()
	if next := s.again(); strings.Contains(next.output.String(), "pbinstall") {
		t.Errorf("there is a link although there is a superuser:\n%s", next.output)
	}
}

// commands returns the command lines of all commands that the help lists, and adds their own help to helps.
func (i *installation) commands(helps map[string]string, line ...string) (all [][]string) {
	i.t.Helper()
	help := i.must(append(line, "--help")...)
	_, list, isGroup := strings.Cut(help, "Available Commands:\n")
	if !isGroup {
		helps[strings.Join(line, " ")] = help
		return [][]string{line}
	}
	list, _, _ = strings.Cut(list, "\n\n")
	for _, entry := range strings.Split(list, "\n") {
		all = append(all, i.commands(helps, append(line[:len(line):len(line)], strings.Fields(entry)[0])...)...)
	}
	return all
}

// Every command has an example in its help and a page in the manual, and shells complete it. None of that touches
// a data directory.
func TestHelpOfEachCommand(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	pages := filepath.Join(filepath.Dir(i.data), "man")
	i.must("man", pages)
	helps := map[string]string{}
	all := i.commands(helps)
	if len(all) < 25 {
		t.Fatalf("the help lists %v", all)
	}
	every := testenv.Count(4, 1) // the completion of each is another process
	for n, line := range all {
		name := strings.Join(line, " ")
		help := helps[name]
		if !strings.Contains(help, "Examples:\n  contactbase "+name) {
			t.Errorf("the help of %s has no example:\n%s", name, help)
		}
		if !strings.Contains(help, "  -h, --help  ") || strings.Contains(help, "[=") || strings.Contains(help, " *cli") {
			t.Errorf("the help of %s shows the values of switches, or types of Go:\n%s", name, help)
		}
		if hasAll := strings.Contains(help, "--retentionDays"); hasAll != (name == "serve" || name == "config") {
			t.Errorf("%s shows all flags of serve: %v", name, hasAll)
		}
		page := filepath.Join(pages, "contactbase-"+strings.Join(line, "-")+".1")
		if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "EXAMPLE") {
			t.Errorf("%s has no page: %v", name, err)
		}
		if n%every != 0 {
			continue
		}
		last := len(line) - 1
		if got := i.completions(append(line[:last:last], line[last][:1])...); !strings.Contains("\n"+got, "\n"+line[last]+"\t") {
			t.Errorf("%s is not completed: %s", name, got)
		}
	}
	if info, err := os.Stat(filepath.Join(pages, "contactbase.1")); err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("the manual is there as %v: %v", info, err)
	}
	for want, line := range map[string][]string{
		"contacts:write": {"key", "create", "Acme", "--permission", ""}, "contact.deleted": {"webhook", "create", "Acme", "http://a", "--event", ""},
		"failed": {"delivery", "list", "a", "--status", ""}, "full": {"inbound", "create", "Acme", "--access", ""}, "--retentionDays": {"serve", "--ret"},
	} {
		if got := i.completions(line...); !strings.Contains(got, want) {
			t.Errorf("%v is not completed with %s: %s", line, want, got)
		}
	}
	if _, err := os.Stat(i.data); err == nil {
		t.Error("a data directory was created")
	}
}

// completions returns the completions of a shell.
func (i *installation) completions(line ...string) string {
	i.t.Helper()
	command := exec.CommandContext(i.t.Context(), binary(i.t), append([]string{"__complete"}, line...)...)
	command.Dir, command.Env = filepath.Dir(i.data), testEnv()
	got := finish(i.t, command)
	if got.code != 0 {
		i.t.Errorf("completing %v exits with %d: %s", line, got.code, got.stderr)
	}
	return got.stdout
}

// The shells can parse the completion scripts.
func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		script := i.must("completion", shell)
		path := findTool(t, shell)
		if path == "" {
			if !strings.Contains(script, "contactbase") {
				t.Errorf("there is no script for %s", shell)
			}
			continue
		}
		command := exec.CommandContext(t.Context(), path, "-n")
		command.Stdin = strings.NewReader(script)
		if got := finish(t, command); got.code != 0 || got.stderr != "" {
			t.Errorf("%s says %s", shell, got.stderr)
		}
	}
}

// The guide lists every command of the program.
func TestCommandsGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, commands, _ := strings.Cut(newInstallation(t).run("--help").stdout, "Available Commands:\n")
	commands, _, _ = strings.Cut(commands, "\n\n")
	lines := strings.Split(commands, "\n")
	if len(lines) < 10 {
		t.Fatalf("the commands are %q", lines)
	}
	for _, line := range lines {
		name := strings.Fields(line)[0]
		if !regexp.MustCompile("`" + name + "( [a-z]+)?`").Match(guide) {
			t.Errorf("the guide does not name %s", name)
		}
	}
}
