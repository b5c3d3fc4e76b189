package e2e

import (
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// developer is a developer who runs the command listen.
type developer struct {
	*installation
	server   *server
	key      string
	receiver *receiver
	home     string
}

func newDeveloper(t *testing.T) *developer {
	t.Helper()
	i := newInstallation(t)
	key := str(t, i.one("key", "create", str(t, i.one("tenant", "create", "Acme"), "id"), "--name", "own"), "key")
	return &developer{i, i.serve(), key, newReceiver(t), t.TempDir()}
}

// listen runs the command until the test ends.
func (d *developer) listen(args ...string) *process {
	d.t.Helper()
	return launch(d.t, d.command(append([]string{"--url", d.server.base, "--forward", d.receiver.URL + "/hook"}, args...)...))
}

func (d *developer) command(args ...string) *exec.Cmd {
	command := exec.Command(binary(d.t), append([]string{"listen"}, args...)...)
	command.Dir = d.home
	command.Env = testEnv("HOME="+d.home, "XDG_CACHE_HOME="+filepath.Join(d.home, "cache"), "CONTACTBASE_KEY="+d.key)
	return command
}

func (d *developer) revoke(name string) {
	d.t.Helper()
	for _, key := range d.many("key", "list") {
		if key["name"] == name {
			d.must("key", "revoke", str(d.t, key, "id"))
		}
	}
}

func (d *developer) create(name string) {
	d.t.Helper()
	d.server.client(d.key).expect(http.StatusCreated, "POST", contactsPath, fmt.Sprintf(`{"name":%q}`, name))
}

// names returns whose events have arrived, and fails the test if one did not verify.
func (d *developer) names(n int) string {
	d.t.Helper()
	var names []string
	for _, one := range d.receiver.await(d.t, "what is forwarded", atLeast(n)) {
		if one.Error != "" || one.ID != one.BodyID || one.Attempt != "1" || one.Delivery == "" {
			d.t.Errorf("a delivery is %+v", one)
		}
		names = append(names, one.Name)
	}
	return strings.Join(names, " ")
}

var shownSecret = regexp.MustCompile(`whsec_[A-Za-z0-9+/=]{44}`)

// A developer gets the events of an installation on their own machine: signed like those of a webhook, each once and
// printed. None is missing after the command or the server was killed.
func TestListen(t *testing.T) {
	t.Parallel()
	d := newDeveloper(t)
	d.create("Before")
	first := d.listen()
	first.await("Signed with ")
	secret := shownSecret.FindString(first.output.String())
	d.receiver.set(secret, nil)
	d.create("First")
	first.await("  204  ")
	first.kill()
	d.create("Missed")
	second := d.listen()
	second.await("  204  ")
	if !strings.Contains(second.output.String(), secret) {
		t.Errorf("the secret is another one:\n%s", second.output)
	}
	d.server.kill()
	second.await("cannot read events")
	d.server = d.server.again()
	d.receiver.set(secret, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	d.create("After")
	second.await("  418  ")
	d.receiver.set(secret, nil)
	d.create("Last")
	if got := d.names(4); got != "First Missed After Last" {
		t.Errorf("what came is %s", got)
	}
	second.stop()

	all := d.listen("--from", "oldest")
	if got := d.names(9); got != "First Missed After Last Before First Missed After Last" {
		t.Errorf("from the oldest on it is %s", got)
	}
	d.revoke("own")
	<-all.ended
	if all.failure == nil || !strings.Contains(all.output.String(), "unknown, revoked or expired") {
		t.Errorf("with a revoked key it ends with %v\n%s", all.failure, all.output)
	}
}

// A command that was away for longer than events are kept says so, and gets the events that are left.
func TestListenAfterTooLong(t *testing.T) {
	t.Parallel()
	d := newDeveloper(t)
	d.create("Gone")
	d.create("Kept")
	db := openData(t, d.data)
	if _, err := db.ExecContext(t.Context(), "DELETE FROM events WHERE rowid = 1"); err != nil {
		t.Fatal(err)
	}
	p := d.listen("--from", "evt_000000000000000")
	p.await("no longer kept")
	p.await("contact.created")
	if got := d.receiver.await(t, "what is kept", atLeast(1)); got[0].ID != "evt_"+column(t, db, "SELECT id FROM events")[0] {
		t.Errorf("got %+v", got)
	}
	p.stop()
}

func TestListenRefuses(t *testing.T) {
	t.Parallel()
	d := newDeveloper(t)
	good := []string{"--url", d.server.base, "--forward", d.receiver.URL}
	ended := str(t, d.one("key", "create", "Acme", "--name", "ended"), "key")
	d.revoke("ended")
	for want, args := range map[string][]string{
		"--forward is required":             {"--url", d.server.base},
		"--forward must be a URL":           append(good, "--forward", "localhost:3000"),
		"--url must be the URL":             append(good, "--url", "crm"),
		"the API key is mistyped":           append(good, "--key", "cmk_abc"),
		"--from must be now, oldest":        append(good, "--from", "yesterday"),
		"connection refused":                append(good, "--url", "http://"+freeAddress(t)),
		"is not a Contactbase installation": append(good, "--url", d.receiver.URL),
		"unknown argument":                  append(good, "now"),
		"unknown, revoked or expired":       append(good, "--key", ended),
	} {
		got := finish(t, d.command(args...))
		if got.code != 1 || !strings.Contains(got.stderr, want) {
			t.Errorf("%v exits with %d and prints %q, want %q", args, got.code, got.stderr, want)
		}
	}
}
