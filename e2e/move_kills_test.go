package e2e

import (
	"database/sql"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

// After a kill, an import can be continued, so that everything is imported once, or deleted.
func TestMoveSurvivesKills(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "imports 20,000 contacts again after each kill")
	const contacts = 20_000
	a, tenant, archive, passphrase := exported(t, contacts)
	b := newInstallation(t)
	b.must("tenant", "create", "Resident")
	s, db := b.serve(), openData(t, b.data)
	kill := func(more ...string) {
		t.Helper()
		const place = "SELECT coalesce(max(100000000 * step + row), 0) FROM _moves"
		before := count(t, db, place)
		p := launch(t, b.command(t.Context(), append([]string{"tenant", "import", archive, passphrase, "--dir=" + b.data}, more...)...))
		await(t, "more of the import", func() bool { return count(t, db, place) > before+2_000 })
		p.kill()
		if count(t, db, place) == 0 {
			t.Fatalf("it was too fast: %s", p.output)
		}
	}
	kill()
	b.refuses("--resume", "tenant", "import", archive, passphrase)
	b.refuses("has not completely arrived", "tenant", "unfreeze", tenant)
	b.must("tenant", "delete", tenant, "--yes")
	kill()
	kill("--resume")
	s.kill()
	s = s.again()
	kill("--resume")
	if got := b.run("tenant", "import", archive, passphrase, "--resume"); got.code != 0 {
		t.Fatal(got)
	}
	sameRows(t, openData(t, a.data), db, tenant, contacts-contacts/100)
	if faults := integrity(t, db); len(faults) > 0 {
		t.Error(faults)
	}
	s.stop()
	if got := b.run("doctor"); got.code != 0 {
		t.Error(got)
	}
}

// killedAtRandom kills a command at a random moment, and returns whether it had ended before.
func (i *installation) killedAtRandom(takes time.Duration, args ...string) (ended bool) {
	i.t.Helper()
	p := launch(i.t, i.command(i.t.Context(), append(args, "--dir="+i.data)...))
	select {
	case <-p.ended:
		if p.failure != nil {
			i.t.Fatalf("%v: %s", args, p.output)
		}
		return true
	case <-time.After(time.Duration(rand.Int64N(int64(takes)))):
		p.kill()
		return p.failure == nil
	}
}

// nothingLeft checks that the next command has deleted the files of a killed export or import.
func (i *installation) nothingLeft() {
	i.t.Helper()
	i.must("tenant", "list")
	left, err := filepath.Glob(filepath.Join(i.data, ".contactbase.moving-*"))
	if err != nil || len(left) > 0 {
		i.t.Errorf("%v are left: %v", left, err)
	}
}

// After a kill of an export, its file is complete or missing, and the tenant accepts writes again. After a kill of an
// import, it can be continued.
func TestMoveSurvivesRandomKills(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "kills an export and an import at ten random moments each")
	const contacts, rounds = 3_000, 5
	a, tenant, archive, passphrase := filled(t, contacts)
	began, whole := time.Now(), archive+"-whole"
	if got := a.run("tenant", "export", "Acme", whole, passphrase, "--freeze"); got.code != 0 {
		t.Fatal(got)
	}
	takes := time.Since(began)
	for range rounds {
		a.must("tenant", "unfreeze", tenant)
		a.must("key", "create", tenant)
		ended := a.killedAtRandom(takes, "tenant", "export", "Acme", archive, passphrase, "--freeze")
		if err := os.Remove(archive); ended && err != nil || err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		a.nothingLeft()
	}
	a.must("tenant", "unfreeze", tenant)
	a.must("key", "create", tenant)
	if got := a.run("tenant", "export", "Acme", archive, passphrase, "--freeze"); got.code != 0 {
		t.Fatal(got)
	}
	b := newInstallation(t)
	b.must("tenant", "create", "Resident")
	began = time.Now()
	if got := b.run("tenant", "import", whole, passphrase); got.code != 0 {
		t.Fatal(got)
	}
	takes = time.Since(began)
	b.must("tenant", "delete", tenant, "--yes")
	b.must("tenant", "create", "Another")
	db := openData(t, b.data)
	arriving := 0
	for range rounds {
		ended := b.killedAtRandom(takes, "tenant", "import", archive, passphrase, "--resume")
		b.nothingLeft()
		left := count(t, db, "SELECT count(*) FROM _moves")
		arriving += left
		// killed after its end
		if ended || left == 0 && count(t, db, "SELECT count(*) FROM tenants WHERE id = '"+tenant+"'") == 1 {
			b.must("tenant", "delete", tenant, "--yes")
		}
	}
	t.Logf("after %d of %d kills a part of the tenant was there", arriving, rounds)
	if got := b.run("tenant", "import", archive, passphrase, "--resume"); got.code != 0 {
		t.Fatal(got)
	}
	sameRows(t, openData(t, a.data), db, tenant, contacts-contacts/100)
	if faults := integrity(t, db); len(faults) > 0 {
		t.Error(faults)
	}
	if got := b.run("doctor"); got.code != 0 {
		t.Error(got)
	}
}

// sameRows compares a tenant's rows in both installations: that many contacts, each with an event and a delivery.
func sameRows(t *testing.T, there, here *sql.DB, tenant string, want int) {
	t.Helper()
	for _, query := range []string{
		"SELECT id || name || email || externalId || created || updated FROM contacts WHERE tenant = '" + tenant + "' ORDER BY id",
		"SELECT contact || text FROM _contactSearch WHERE tenant = '" + tenant + "' ORDER BY seq",
		"SELECT id || payload FROM events WHERE tenant = '" + tenant + "' ORDER BY rowid",
		"SELECT id || event || webhook FROM deliveries WHERE tenant = '" + tenant + "' ORDER BY rowid",
	} {
		before, after := column(t, there, query), column(t, here, query)
		if len(after) != want || strings.Join(before, "\n") != strings.Join(after, "\n") {
			t.Errorf("%s returns %d rows and not the same %d", query, len(after), len(before))
		}
	}
}
