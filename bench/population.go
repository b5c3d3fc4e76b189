package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	program "contactbase/internal/app"
	"contactbase/internal/credential"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
)

const (
	fillBatch       = 1_000 // contacts a request
	fillConnections = 4
	unlimited       = 1_000_000_000 // requests a minute

	drawnPeople = 5_000
	drawnPages  = 20
)

// population is our server on a folder with so many tenants of so many contacts each.
type population struct {
	*target
	tenants, contacts int
	members           []member
	people            []visit // to contacts drawn at random
	pages             []visit // to pages that begin at many depths
}

// member is a tenant with a key.
type member struct{ id, key string }

// visit is an address with the key that opens it.
type visit struct{ path, key string }

// parsePopulation reads "1000x100": a thousand tenants of a hundred contacts each.
func parsePopulation(text, folders string) (*population, error) {
	p := &population{target: &target{name: text, dir: filepath.Join(folders, text), header: http.Header{}}}
	if _, err := fmt.Sscanf(text, "%dx%d", &p.tenants, &p.contacts); err != nil || p.tenants < 1 || p.contacts < 1 {
		return nil, fmt.Errorf("-sizes takes numbers of tenants and of contacts such as 1000x100, not %q", text)
	}
	return p, nil
}

func (p *population) String() string {
	if p.tenants == 1 {
		return thousands(p.contacts)
	}
	return thousands(p.tenants) + " tenants of " + thousands(p.contacts)
}

// prepare makes what the folder lacks, for about so long, and reports whether all is there then.
func (p *population) prepare(binary string, timeout time.Duration) (whole bool, err error) {
	if _, err := os.Stat(filepath.Join(p.dir, "data.db")); errors.Is(err, fs.ErrNotExist) {
		if _, err := runJSON(binary, p.dir, "tenant", "create", tenantName(0), "--rateLimit", strconv.Itoa(unlimited)); err != nil {
			return false, err
		}
	}
	if err := p.offline(p.makeMembers); err != nil {
		return false, err
	}
	var missing []newContacts
	if err := p.offline(func(app core.App) (err error) {
		missing, err = p.missing(app)
		return err
	}); err != nil {
		return false, err
	}
	if whole, err := p.fill(binary, missing, timeout); err != nil || !whole {
		return false, err
	}
	return true, p.offline(p.drawPeople)
}

// offline opens the folder while no server has it.
func (p *population) offline(do func(core.App) error) error {
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: p.dir, DBConnect: sqlite.Connect(sqlite.Full)})
	program.New(app, program.Config{})
	if err := app.Bootstrap(); err != nil {
		return fmt.Errorf("opening %s: %w", p.dir, err)
	}
	return errors.Join(do(app), app.ResetBootstrapState())
}

func tenantName(n int) string { return fmt.Sprintf("Tenant %d", n) }

// makeMembers makes the tenants that the folder lacks, and a key for each of all.
func (p *population) makeMembers(app core.App) error {
	return app.RunInTransaction(func(tx core.App) error {
		for n := range p.tenants {
			made, err := makeMember(tx, tenantName(n))
			if err != nil {
				return err
			}
			p.members = append(p.members, made)
		}
		return nil
	})
}

func makeMember(tx core.App, name string) (member, error) {
	t, err := tenant.Find(tx, name)
	if err != nil {
		if t, err = tenant.New(tx); err != nil {
			return member{}, err
		}
		t.SetName(name)
		t.SetAPIEnabled(true)
		t.SetRateLimit(unlimited)
		if err := tx.Save(t); err != nil {
			return member{}, err
		}
	}
	k, err := credential.NewKey(tx)
	if err != nil {
		return member{}, err
	}
	k.SetTenant(t.Id)
	k.SetName("bench")
	if err := tx.Save(k); err != nil {
		return member{}, err
	}
	return member{t.Id, credential.Minted(k.ProxyRecord())}, nil
}

// newContacts is a request that makes so many contacts.
type newContacts struct {
	first int64
	count int
	key   string
}

func (b newContacts) call() call {
	items := make([]string, b.count)
	for i := range items {
		items[i] = `{"action":"create","contact":` + contact(b.first+int64(i), "") + "}"
	}
	return call{"POST", ourContacts + "/batch", `{"items":[` + strings.Join(items, ",") + "]}", b.key}
}

// missing returns the requests that make the contacts that the folder lacks.
func (p *population) missing(app core.App) (missing []newContacts, err error) {
	for _, m := range p.members {
		var there int
		if err := app.DB().NewQuery("SELECT count(*) FROM contacts WHERE tenant = {:tenant}").Bind(dbx.Params{"tenant": m.id}).Row(&there); err != nil {
			return nil, err
		}
		for ; there < p.contacts; there += fillBatch {
			missing = append(missing, newContacts{firstContact + int64(there), min(fillBatch, p.contacts-there), m.key})
		}
	}
	return missing, nil
}

// fill makes contacts for about so long, and reports whether none is missing then, in the index of trigrams neither.
func (p *population) fill(binary string, missing []newContacts, timeout time.Duration) (whole bool, err error) {
	if err := p.start(binary); err != nil {
		return false, err
	}
	defer p.stop()
	if len(missing) == 0 {
		return true, p.settle()
	}
	loaded := run(p.base, p.header, fillConnections, timeout, int64(len(missing)), func(n int64, _ *rand.Rand) call {
		return missing[n-1].call()
	})
	if loaded.errors > 0 {
		return false, fmt.Errorf("filling: %s", loaded.firstError)
	}
	log.Printf("%s: %d of %d requests for contacts that are missing, in %v", p.name, loaded.sent, len(missing), time.Duration(loaded.elapsed).Round(time.Second))
	if loaded.sent < int64(len(missing)) {
		return false, nil
	}
	return true, p.settle()
}

// drawPeople draws contacts at random from the whole file.
func (p *population) drawPeople(app core.App) error {
	keys := map[string]string{}
	for _, m := range p.members {
		keys[m.id] = m.key
	}
	var last int64
	if err := app.DB().NewQuery("SELECT max(rowid) FROM contacts").Row(&last); err != nil {
		return err
	}
	for range drawnPeople {
		var id, tenantID string
		err := app.DB().NewQuery("SELECT id, tenant FROM contacts WHERE rowid >= {:row} LIMIT 1").Bind(dbx.Params{"row": 1 + rand.Int64N(last)}).Row(&id, &tenantID)
		if err != nil {
			return err
		}
		p.people = append(p.people, visit{ourContacts + "/" + id, keys[tenantID]})
	}
	return nil
}

// begin starts the server and looks for pages at many depths, of many tenants.
func (p *population) begin(binary string) error {
	if err := p.start(binary); err != nil {
		return err
	}
	for n := range drawnPages {
		key := p.members[n*p.tenants/drawnPages].key
		path, err := cursorAt(&target{base: p.base, header: http.Header{keyHeader: {key}}}, 50+p.contacts*n/(drawnPages+1))
		if err != nil {
			return err
		}
		p.pages = append(p.pages, visit{path, key})
	}
	return nil
}

// size returns how many bytes the folder takes.
func (p *population) size() (total int64) {
	_ = filepath.WalkDir(p.dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := entry.Info(); err == nil && !entry.IsDir() {
			total += info.Size()
		}
		return nil
	})
	return total
}

func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
