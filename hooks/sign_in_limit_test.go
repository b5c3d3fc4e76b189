package hooks_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/logger"

	"contactbase/internal/testkit"
	"contactbase/internal/visitor"
)

const (
	superuserEmail    = "root@example.com"
	superuserPassword = "a long password"
	superusersPath    = "/api/collections/_superusers"
)

// gate is an app whose clients say in a header what their addresses are.
type gate struct {
	t    *testing.T
	app  core.App
	base string
}

func newGate(t *testing.T, app core.App, limits bool) *gate {
	t.Helper()
	settings := app.Settings()
	settings.RateLimits.Enabled = limits // those per address
	settings.TrustedProxy.Headers = []string{"X-Forwarded-For"}
	settings.Logs.MaxDays = 5 // PocketBase's tests keep none
	if err := app.Save(settings); err != nil {
		t.Fatal(err)
	}
	return &gate{t, app, testkit.Serve(t, app)}
}

// try signs in as the superuser, and returns the status.
func (g *gate) try(password, address string) int {
	g.t.Helper()
	body := `{"identity":"` + superuserEmail + `","password":"` + password + `"}`
	return testkit.NewClient(g.t, g.base, "").Do("POST", superusersPath+"/auth-with-password", body,
		"X-Forwarded-For", address).Status
}

// guess tries wrong passwords from 80 addresses. All but ten are refused; a slow machine may be allowed
// another one each minute.
func (g *gate) guess() {
	g.t.Helper()
	tried := 0
	for i := range 80 {
		switch status := g.try("wrong", fmt.Sprintf("2001:db8:%x::1", i)); status {
		case 400:
			tried++
		case 429:
		default:
			g.t.Errorf("a guess gives %d", status)
		}
	}
	if tried < 10 || tried > 20 {
		g.t.Errorf("%d of 80 guesses were tried", tried)
	}
}

// Guesses at a superuser's password are limited, however many the addresses. The superuser is not locked out from a
// network of the last 30 days, nor after a restart, nor with a token, nor with a new password. The log says so.
func TestGuessesAtSuperusers(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	token := testkit.SuperuserToken(t, app)
	g := newGate(t, app, false)
	if status := g.try(superuserPassword, "2001:db8:abcd:1::7"); status != 200 {
		t.Fatalf("signing in gives %d", status)
	}
	g.guess()
	const away, home = "203.0.113.9", "2001:db8:abcd:1:ffff::8" // of the same /64 network
	if status := g.try(superuserPassword, away); status != 429 {
		t.Errorf("the right guess from a new address gives %d", status)
	}
	if status := g.try(superuserPassword, home); status != 200 {
		t.Errorf("the superuser gets %d at home", status)
	}
	for _, request := range [][2]string{{"GET", superusersPath + "/records"}, {"POST", superusersPath + "/auth-refresh"}} {
		got := testkit.NewClient(t, g.base, "").Do(request[0], request[1], "",
			"Authorization", token, "X-Forwarded-For", away)
		if got.Status != 200 {
			t.Errorf("%v with a token gives %d %s", request, got.Status, got.Body)
		}
	}

	message := logged(t, app, "too many wrong passwords")
	for _, command := range []string{"contactbase superuser update", "contactbase superuser upsert"} {
		if !strings.Contains(message, command) {
			t.Errorf("the log does not name %q: %s", command, message)
		}
	}

	restarted := newGate(t, testkit.Reopen(t, app), false)
	restarted.guess()
	if status := restarted.try(superuserPassword, home); status != 200 {
		t.Errorf("after a restart the superuser gets %d at home", status)
	}
	if status := restarted.try(superuserPassword, away); status != 429 {
		t.Errorf("after a restart the right guess gives %d", status)
	}

	// as contactbase superuser update does
	record, err := app.FindAuthRecordByEmail(core.CollectionNameSuperusers, superuserEmail)
	if err != nil {
		t.Fatal(err)
	}
	record.SetPassword("another password")
	if err := app.Save(record); err != nil {
		t.Fatal(err)
	}
	if status := g.try("another password", away); status != 200 {
		t.Errorf("with a new password the superuser gets %d", status)
	}
}

// logged returns the first message of the log that begins with a text. PocketBase writes the log in the background.
func logged(t *testing.T, app core.App, prefix string) (message string) {
	t.Helper()
	testkit.Eventually(t, "the row of the log", func() bool {
		if err := app.Logger().Handler().(*logger.BatchHandler).WriteAll(t.Context()); err != nil {
			t.Fatal(err)
		}
		var rows []*core.Log
		if err := app.AuxModelQuery(&core.Log{}).All(&rows); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if strings.HasPrefix(row.Message, prefix) {
				message = row.Message
			}
		}
		return message != ""
	})
	return message
}

// An address that is known has a limit, too: of its own.
func TestKnownAddressesAreLimited(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.SuperuserToken(t, app)
	g := newGate(t, app, false)
	for _, address := range []string{"192.0.2.1", "192.0.2.2"} {
		if status := g.try(superuserPassword, address); status != 200 {
			t.Fatalf("signing in gives %d", status)
		}
	}
	tried := 0
	for g.try("wrong", "192.0.2.1") == 400 {
		tried++
	}
	if tried < 10 || tried > 20 {
		t.Errorf("%d guesses were tried", tried)
	}
	for address, want := range map[string]int{"::ffff:192.0.2.1": 429, "192.0.2.2": 200, "192.0.2.3": 200} {
		if status := g.try(superuserPassword, address); status != want {
			t.Errorf("signing in from %s gives %d, not %d", address, status, want)
		}
	}
}

// The limits of PocketBase take a /64 network as one address, and an address that the settings exclude as itself.
// Others see the client's.
func TestLimitsTakeNetworks(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	token := testkit.SuperuserToken(t, app)
	app.Settings().RateLimits.ExcludedIPs = []string{"2001:db8:0:2::1"}
	g := newGate(t, app, true)
	statuses := map[int]int{}
	for i := range 12 {
		statuses[g.try(superuserPassword, fmt.Sprintf("2001:db8:0:1::%x", i+1))]++
		if status := g.try(superuserPassword, "2001:db8:0:2::1"); status != 200 {
			t.Errorf("an excluded address gets %d", status)
		}
	}
	if statuses[200] != 10 || statuses[429] != 2 {
		t.Errorf("twelve addresses of a network get %v", statuses)
	}
	if status := g.try(superuserPassword, "2001:db8:0:3::1"); status != 200 {
		t.Errorf("another network gets %d", status)
	}
	got := testkit.NewClient(t, g.base, "").Do("GET", "/api/health", "",
		"X-Forwarded-For", "2001:db8:0:1::9", "Authorization", token)
	if !strings.Contains(string(got.Body), "2001:0db8:0000:0001:0000:0000:0000:0009") {
		t.Errorf("a handler sees %s", got.Body)
	}
}

// Addresses are hashes, at most twenty of an account, for 30 days. They go with the account, and none is added to
// one that is gone.
func TestKnownAddressesAreForgotten(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	now := time.Now()
	known := func(address string, at time.Time) bool {
		t.Helper()
		found, err := visitor.IsKnown(d.app, d.admin, address, at)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	rows := func() int {
		return testkit.Count(t, d.app, "SELECT count(*) FROM _knownAddresses WHERE account = {:id}",
			dbx.Params{"id": d.admin.Id})
	}
	remember := func(n int, at time.Time) {
		t.Helper()
		if err := visitor.Remember(d.app, d.admin, fmt.Sprintf("192.0.2.%d", n), at); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 25 {
		remember(i, now.Add(time.Duration(i)*time.Second))
	}
	remember(5, now.Add(time.Minute)) // once more
	if rows() != 20 || known("192.0.2.4", now) || !known("192.0.2.5", now) || !known("192.0.2.24", now) {
		t.Errorf("of 25 addresses %d are known", rows())
	}
	const plain = "SELECT count(*) FROM _knownAddresses WHERE instr(address, '.') OR length(address) != 64"
	if n := testkit.Count(t, d.app, plain, nil); n != 0 {
		t.Errorf("%d addresses are readable", n)
	}
	later := now.Add(visitor.KnownFor + 30*time.Second)
	if known("192.0.2.24", later) || !known("192.0.2.5", later) {
		t.Error("addresses are not known for 30 days")
	}
	if n, err := visitor.Prune(d.app, 100, later); err != nil || n != 19 || rows() != 1 {
		t.Errorf("pruning deletes %d and leaves %d (%v)", n, rows(), err)
	}
	if found, err := visitor.IsKnown(d.app, d.viewer, "192.0.2.5", now); err != nil || found {
		t.Errorf("another member has the address (%v)", err)
	}
	if err := d.app.Delete(d.admin); err != nil {
		t.Fatal(err)
	}
	remember(1, now)
	if rows() != 0 {
		t.Errorf("%d addresses of a deleted member are left", rows())
	}
}
