package testkit_test

import (
	"context"
	"go/ast"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/search"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/delivery"
	"contactbase/internal/member"
	"contactbase/internal/quota"
	"contactbase/internal/retention"
	"contactbase/internal/sqlite"
	"contactbase/internal/testenv"
	"contactbase/internal/testkit"
)

// job is work in chunks.
type job struct {
	rows func(y *yard, n int) // makes n rows
	run  func(y *yard) error  // uses them up
	left string               // a query that counts those that are left
}

// yard has the rows of a job.
type yard struct {
	*testing.T
	app     core.App
	tenant  string
	webhook string // of the tenant, which receives nothing by itself
	job     string // the id of an import
}

func newYard(t *testing.T) *yard {
	t.Helper()
	y := &yard{T: t, app: testkit.NewApp(t)}
	y.tenant = testkit.Tenant(t, y.app, "Acme")
	y.webhook = testkit.Record(t, y.app, "webhooks", map[string]any{
		"tenant": y.tenant, "name": "CRM", "url": "https://example.com", "events": []string{"contact.created", "contact.updated"},
	}).Id
	return y
}

// columns has SQL expressions by the names of columns, with i for the number of the row, from 1 on.
type columns map[string]string

// add inserts n rows.
func (y *yard) add(table string, n int, set columns) {
	y.Helper()
	names := slices.Sorted(maps.Keys(set))
	expressions := make([]string, len(names))
	for at, name := range names {
		expressions[at] = set[name]
	}
	y.execute("INSERT INTO `"+table+"` (`"+strings.Join(names, "`, `")+"`) WITH RECURSIVE n(i) AS "+
		"(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {:n}) SELECT "+strings.Join(expressions, ", ")+" FROM n", n)
}

// execute runs SQL with the parameters n, tenant and webhook. $id stands for an id of the number i, $old for a time.
func (y *yard) execute(query string, n int) {
	y.Helper()
	query = strings.NewReplacer("$id", "printf('a%014d', i)", "$old", "'2020-01-01 00:00:00.000Z'").Replace(query)
	testkit.Execute(y, y.app, query, dbx.Params{"n": n, "tenant": y.tenant, "webhook": y.webhook})
}

// rowsOf returns a function that makes n rows of a table.
func rowsOf(table string, set columns) func(*yard, int) {
	return func(y *yard, n int) { y.add(table, n, set) }
}

// with returns columns with some others.
func (c columns) with(others columns) columns {
	all := maps.Clone(c)
	maps.Copy(all, others)
	return all
}

var (
	anEvent = columns{"id": "$id", "tenant": "{:tenant}", "type": "'contact.updated'", "contact": "$id",
		"payload": "'{}'", "created": "$old"}
	aDelivery = columns{"id": "$id", "event": "$id", "webhook": "{:webhook}", "tenant": "{:tenant}",
		"status": "'delivered'", "created": "$old", "updated": "$old"}
	anAttempt = columns{"id": "$id", "delivery": "'a00000000000001'", "number": "i", "started": "$old",
		"requestHeaders": "'{}'", "responseHeaders": "'{}'", "responseBody": "'hello'"}
	aRequest = columns{"id": "$id", "inbound": "'hook'", "tenant": "{:tenant}", "body": "'x'", "result": "'{}'",
		"created": "$old"}
	anAnswer = columns{"key": "$id", "request": "''", "status": "200", "location": "''", "body": "'x'", "contact": "''",
		"created": "$old", "tenant": "{:tenant}"}
	aMember = columns{"id": "$id", "tenant": "{:tenant}", "role": "'viewer'", "link": "1", "expires": "$old",
		"tokenKey": "$id", "password": "'x'", "email": "''"}
)

const first = "'a00000000000001'"

// fannedOut marks all events as fanned out.
func (y *yard) fannedOut() {
	y.Helper()
	y.execute("UPDATE _fanOutCursor SET event = (SELECT id FROM events ORDER BY rowid DESC LIMIT 1)", 0)
}

// events returns a function that makes n events.
func events(set columns) func(*yard, int) {
	return func(y *yard, n int) {
		y.add("events", n, anEvent.with(set))
		y.fannedOut()
	}
}

// attempts makes n attempts of one delivery of one event.
func attempts(y *yard, n int) {
	events(nil)(y, 1)
	y.add("deliveries", 1, aDelivery)
	y.add("delivery_attempts", n, anAttempt)
}

// deliveries makes n events with one delivery each.
func deliveries(set columns) func(*yard, int) {
	return func(y *yard, n int) {
		events(nil)(y, n)
		y.add("deliveries", n, aDelivery.with(set))
	}
}

// deleted notes that the first n records of a collection were deleted, after rows has made what is left of them.
func deleted(collection, record, detail string, rows func(*yard, int)) func(*yard, int) {
	return func(y *yard, n int) {
		rows(y, n)
		many := 1
		if record == "$id" {
			many = n
		}
		y.add("_deletions", many, columns{"collection": collection, "record": record, "detail": detail, "created": "$old"})
	}
}

// erased makes what is left of one deleted contact.
func erased(rows func(*yard, int)) func(*yard, int) {
	return deleted("'contacts'", first, first+" || ' crowds:' || {:tenant}", rows)
}

// gone makes what is left of a deleted tenant.
func gone(rows func(*yard, int)) func(*yard, int) {
	return func(y *yard, n int) {
		rows(y, n)
		record, err := y.app.FindRecordById("tenants", y.tenant)
		if err == nil {
			err = y.app.Delete(record)
		}
		if err != nil {
			y.Fatal(err)
		}
	}
}

func prune(y *yard) error {
	return retention.Prune(y.Context(), y.app, testkit.Deliveries(y.app), time.Now().Add(-24*time.Hour))
}

func sweep(y *yard) error {
	return retention.Sweep(y.Context(), y.app, testkit.Deliveries(y.app))
}

// sheetOf stores a sheet of n rows, each with its number instead of %d, and calls begin.
func sheetOf(row string, begin func(app core.App, id string, choices sheet.Choices) error) func(*yard, int) {
	return func(y *yard, n int) {
		y.Helper()
		text := string(number("externalId,name,email\n", row, "")(n))
		file, err := imports.Open(y.Context(), y.app, imports.Source{Name: "a.csv"}, nil, strings.NewReader(text))
		if err != nil {
			y.Fatal(err)
		}
		defer file.Close()
		stored, err := file.Store(y.Context(), y.app, y.tenant)
		if err == nil {
			y.job = stored.ID
			choices := stored.Choices
			choices.Match = "externalId"
			err = begin(y.app, y.job, choices)
		}
		if err != nil {
			y.Fatal(err)
		}
	}
}

// applied is sheetOf a sheet that is applied, and then begins something else.
func applied(row string, begin func(y *yard) error) func(*yard, int) {
	return func(y *yard, n int) {
		y.Helper()
		sheetOf(row, imports.Start)(y, n)
		if err := imports.WorkOn(y.Context(), y.app, y.job); err != nil {
			y.Fatal(err)
		}
		if err := begin(y); err != nil {
			y.Fatal(err)
		}
	}
}

func workOn(y *yard) error { return imports.WorkOn(y.Context(), y.app, y.job) }

// crowd returns a function that makes n contacts.
func crowd(columns map[string]string) func(*yard, int) {
	return func(y *yard, n int) { testkit.Crowd(y, y.app, y.tenant, n, columns) }
}

// merged makes contacts to which n old ids lead.
func merged(y *yard, n int) {
	crowd(nil)(y, 51)
	y.add("_mergedContacts", n, columns{"tenant": "{:tenant}", "oldId": "$id", "oldExternalId": "$id",
		"contact": "printf('c%014d', 2 + i % 50)"})
}

func recoverAll(y *yard) error {
	_, err := testkit.Deliveries(y.app).Recover(y.Context(), y.webhook, delivery.Recovery{Before: true, RetryPending: true})
	return err
}

const future = "'2100-01-01 00:00:00.000Z'"

// jobs is all work in chunks with its hostile rows.
var jobs = map[string]job{
	"prune events":              {events(nil), prune, "SELECT count(*) FROM events"},
	"prune pings":               {events(columns{"type": "'webhook.ping'"}), prune, "SELECT count(*) FROM events"},
	"prune events of a contact": {events(columns{"contact": "'x'"}), prune, "SELECT count(*) FROM events"},
	"prune deliveries":          {deliveries(nil), prune, "SELECT count(*) FROM deliveries"},
	"prune attempts":            {attempts, prune, "SELECT count(*) FROM delivery_attempts"},
	"prune deliveries of an event": {func(y *yard, n int) {
		events(nil)(y, 1)
		y.add("deliveries", n, aDelivery.with(columns{"event": first, "webhook": "$id"}))
	}, prune, "SELECT count(*) FROM deliveries"},
	"prune behind what is pending": {func(y *yard, n int) {
		deliveries(columns{"status": "'pending'", "created": future, "updated": future})(y, n)
		y.add("events", n, anEvent.with(columns{"id": "'b' || $id"}))
		y.fannedOut()
	}, prune, "SELECT count(*) FROM events WHERE id > 'b'"},
	"prune what is stranded": {func(y *yard, n int) {
		y.execute("UPDATE webhooks SET disabled = 1", 0)
		deliveries(columns{"status": "'pending'"})(y, n)
	}, prune, "SELECT count(*) FROM deliveries"},
	"prune requests":  {rowsOf("inbound_requests", aRequest), prune, "SELECT count(*) FROM inbound_requests"},
	"prune responses": {rowsOf("_idempotency", anAnswer), prune, "SELECT count(*) FROM _idempotency"},
	"prune links":     {rowsOf("tenant_members", aMember), prune, "SELECT count(*) FROM tenant_members"},
	"prune addresses": {rowsOf("_knownAddresses", columns{"account": "'x'", "address": "$id", "seen": "$old"}), prune,
		"SELECT count(*) FROM _knownAddresses"},
	"prune activity": {rowsOf("_activity", columns{"kind": "'key'", "grain": "3600", "start": "'2020-01-01 00'", "of": "$id"}),
		prune, "SELECT count(*) FROM _activity"},
	"prune calls": {rowsOf("_keptCalls", columns{"key": "$id", "slow": "i % 2", "requestId": "$id", "method": "'GET'", "path": "''",
		"status": "500", "code": "''", "durationMs": "1", "created": "$old"}), prune, "SELECT count(*) FROM _keptCalls"},
	"prune notices": {rowsOf("_notices", columns{"id": "$id", "kind": "'key.expiring'", "subject": "$id", "episode": "'1'",
		"tenant": "{:tenant}", "data": "'{}'", "created": "$old", "ended": "$old"}), prune, "SELECT count(*) FROM _notices"},
	"prune imports": {func(y *yard, n int) {
		y.add("_imports", n, columns{"id": "$id", "tenant": "{:tenant}", "name": "''", "status": "'done'", "created": "$old",
			"updated": "$old", "columns": "'[]'", "mapping": "'[]'"})
		y.add("_importNotes", n, columns{"import": "$id", "row": "i", "text": "'x'", "tenant": "{:tenant}"})
	}, prune, "SELECT count(*) FROM _importNotes"},
	"prune rows of an import": {rowsOf("_importCreated", columns{"import": "'x'", "contact": "$id", "tenant": "{:tenant}",
		"updated": "$old"}), prune, "SELECT count(*) FROM _importCreated"},
	"prune the audit log": {rowsOf("audit_log", columns{"id": "$id", "tenant": "{:tenant}", "created": "$old"}),
		func(y *yard) error { return audit.Prune(y.Context(), y.app, time.Now()) }, "SELECT count(*) FROM audit_log WHERE id < 'b'"},

	"erase contacts": {deleted("'contacts'", "$id", "$id", events(nil)), sweep, "SELECT count(*) FROM _deletions"},
	"erase events of a contact": {erased(events(columns{"contact": first})), sweep,
		"SELECT count(*) FROM events WHERE payload = '{}'"},
	"erase attempts": {erased(attempts), sweep, "SELECT count(*) FROM delivery_attempts WHERE responseBody != ''"},
	"erase requests": {erased(func(y *yard, n int) {
		y.add("inbound_requests", n, aRequest)
		y.add("_inboundPeople", n, columns{"person": first, "request": "$id"})
	}), sweep, "SELECT count(*) FROM inbound_requests WHERE body != ''"},
	"erase crowds": {erased(func(y *yard, n int) {
		y.add("inbound_requests", n, aRequest)
		y.add("_inboundCrowds", n, columns{"tenant": "{:tenant}", "request": "$id",
			"people": "hex(zeroblob(105)) || " + first})
	}), sweep, "SELECT count(*) FROM inbound_requests WHERE body != ''"},
	"erase notes of imports": {erased(rowsOf("_importNotes", columns{"import": "'x'", "row": "i", "text": "'x'",
		"tenant": "{:tenant}", "contact": first})), sweep, "SELECT count(*) FROM _importNotes"},

	"delete a webhook": {deleted("'webhooks'", "{:webhook}", "''", deliveries(nil)), sweep,
		"SELECT count(*) FROM deliveries"},
	"delete the webhook of erased contacts": {deleted("'webhooks'", "{:webhook}", "''",
		deliveries(columns{"status": "'pending'"})), sweep, "SELECT count(*) FROM deliveries"},
	"delete the webhook of an attempted delivery": {deleted("'webhooks'", "{:webhook}", "''", attempts), sweep,
		"SELECT count(*) FROM delivery_attempts"},
	"delete an inbound webhook": {deleted("'inbound_webhooks'", "'hook'", "''", rowsOf("inbound_requests", aRequest)), sweep,
		"SELECT count(*) FROM inbound_requests"},
	"delete a tenant with contacts": {gone(crowd(nil)), sweep, "SELECT count(*) FROM contacts"},
	"delete a tenant with events":   {gone(events(nil)), sweep, "SELECT count(*) FROM events"},
	"delete a tenant with keys": {gone(rowsOf("api_keys", columns{"id": "$id", "tenant": "{:tenant}", "hash": "$id"})), sweep,
		"SELECT count(*) FROM api_keys"},
	"delete a tenant with links": {rowsOf("tenant_members", aMember), func(y *yard) error {
		_, err := member.RevokeLinks(y.Context(), y.app, y.tenant)
		return err
	}, "SELECT count(*) FROM tenant_members"},
	"delete a tenant with responses": {gone(rowsOf("_idempotency", anAnswer)), sweep, "SELECT count(*) FROM _idempotency"},
	"delete a tenant with merged contacts": {gone(rowsOf("_mergedContacts", columns{"tenant": "{:tenant}", "oldId": "$id",
		"oldExternalId": "$id", "contact": first})), sweep, "SELECT count(*) FROM _mergedContacts"},
	"delete a tenant in relations": {gone(func(y *yard, n int) {
		testkit.AddRelated(y, y.app, "orders", "tenants", core.RelationField{Name: "tenants", MaxSelect: 2})
		y.add("orders", n, columns{"id": "$id", "tenants": "json_array({:tenant})"})
	}), sweep, "SELECT count(*) FROM orders WHERE tenants != '[]'"},

	"evict responses": {func(y *yard, n int) {
		y.add("_idempotency", n, anAnswer)
		y.execute("UPDATE _stored SET bytes = bytes + 67108864", 0)
	}, func(y *yard) error { return quota.Trim(y.Context(), y.app, y.tenant) }, "SELECT count(*) FROM _idempotency"},
	"recover failed deliveries": {deliveries(columns{"status": "'failed'"}), recoverAll,
		"SELECT count(*) FROM deliveries WHERE status = 'failed'"},
	"recover missed events": {events(columns{"type": "'contact.created'", "contact": "''"}), recoverAll,
		"SELECT count(*) FROM events e WHERE NOT EXISTS (SELECT 1 FROM deliveries WHERE event = e.id)"},
	"reschedule": {deliveries(columns{"status": "'pending'", "nextAttempt": future, "updated": future}),
		func(y *yard) error { return testkit.Deliveries(y.app).Reschedule(y.Context(), time.Now()) },
		"SELECT count(*) FROM deliveries WHERE updated = " + future},
	"fan out": {rowsOf("events", anEvent.with(columns{"type": "'contact.created'"})), catchUp,
		"SELECT count(*) - (SELECT count(*) FROM deliveries) FROM events"},
	"fan out events of a contact": {rowsOf("events", anEvent.with(columns{"type": "'contact.created'", "contact": "'x'"})),
		catchUp, "SELECT count(*) - (SELECT count(*) FROM deliveries) FROM events"},
	"fan out what nobody wants": {rowsOf("events", anEvent.with(columns{"type": "'contact.deleted'"})), catchUp,
		"SELECT count(*) FROM _fanOutCursor WHERE event != (SELECT max(id) FROM events)"},

	"fold": {func(y *yard, n int) {
		crowd(nil)(y, n)
		y.execute("UPDATE _contactSearch SET text = ''", 0)
		y.execute("DELETE FROM _contactFolded", 0)
		y.execute("INSERT INTO _contactFolded SELECT 0, max(seq) FROM _contactSearch", 0)
	}, func(y *yard) error { return sqlite.InChunks(y.Context(), y.app, contact.Refold) },
		"SELECT count(*) FROM _contactSearch WHERE text = ''"},
	"index": {crowd(nil), index, "SELECT (SELECT max(seq) FROM _contactSearch) - upTo FROM _contactIndexed"},
	"index long texts": {crowd(map[string]string{"name": "'Person ' || i || hex(zeroblob(100))"}), index,
		"SELECT (SELECT max(seq) FROM _contactSearch) - upTo FROM _contactIndexed"},

	"check an import": {sheetOf("%[1]d,Ada,a%[1]d@example.com\n", imports.Check), workOn,
		"SELECT count(*) FROM _imports WHERE status != 'checked'"},
	"check an import of one address": {sheetOf("%d,Ada,a@example.com\n", imports.Check), workOn,
		"SELECT count(*) FROM _imports WHERE status != 'checked'"},
	"import": {sheetOf("%[1]d,Ada,a%[1]d@example.com\n", imports.Start), workOn,
		"SELECT count(*) FROM _imports WHERE status != 'done'"},
	"import of one contact": {sheetOf("x,Ada %d,a@example.com\n", imports.Start), workOn,
		"SELECT count(*) FROM _imports WHERE status != 'done'"},
	"import of rejected rows": {sheetOf("%d,Ada,a@@\n", imports.Start), workOn,
		"SELECT count(*) FROM _imports WHERE status != 'done'"},
	"import again": {sheetOf("%d,Ada,a@@\n", func(app core.App, id string, choices sheet.Choices) error {
		if err := imports.Check(app, id, choices); err != nil {
			return err
		}
		if err := imports.WorkOn(context.Background(), app, id); err != nil {
			return err
		}
		choices.Country = "DE" // so that it is checked once more
		return imports.Start(app, id, choices)
	}), workOn, "SELECT count(*) FROM _imports WHERE status != 'done'"},
	"undo an import": {applied("%[1]d,Ada,a%[1]d@example.com\n", func(y *yard) error {
		return imports.BeginUndo(y.app, y.job)
	}), workOn, "SELECT count(*) FROM contacts"},
	"undo an import of what has changed": {applied("%[1]d,Ada,a%[1]d@example.com\n", func(y *yard) error {
		y.execute("UPDATE contacts SET updated = "+future, 0)
		return imports.BeginUndo(y.app, y.job)
	}), workOn, "SELECT count(*) FROM _imports WHERE status != 'undone'"},
	"merge": {merged, func(y *yard) error {
		return y.app.RunInTransaction(func(tx core.App) error {
			_, err := (&contact.Merge{ID: "c00000000000001", From: []string{"c00000000000002", "c00000000000003"}}).Apply(tx, y.tenant)
			return err
		})
	}, "SELECT count(*) FROM contacts WHERE id IN ('c00000000000002', 'c00000000000003')"},
}

func catchUp(y *yard) error { return testkit.Deliveries(y.app).CatchUp(y.Context()) }

func index(y *yard) error { return sqlite.InChunks(y.Context(), y.app, search.IndexPending) }

// Work in chunks is linear in its rows, whatever they have in common.
func TestHostileJobs(t *testing.T) {
	for what, j := range jobs {
		t.Run(what, func(t *testing.T) {
			testkit.LinearJob(t, testenv.Count(300, 4_000), func(n int) func() {
				y := newYard(t)
				j.rows(y, n)
				return func() {
					if err := j.run(y); err != nil {
						t.Error(err)
					}
				}
			})
			y := newYard(t)
			j.rows(y, 100)
			before := testkit.Count(t, y.app, j.left, nil)
			if err := j.run(y); err != nil {
				t.Error(err)
			}
			if left := testkit.Count(t, y.app, j.left, nil); before == 0 || left > 0 {
				t.Errorf("of %d rows, %d are left", before, left)
			}
		})
	}
}

// chunked has the functions that work in chunks, by a job that they do, or by the reason why they need none.
var chunked = map[string]string{
	"prune events":                  "internal/delivery/store.inPages",
	"erase events of a contact":     "internal/delivery/store.Store.eraseEvents",
	"erase attempts":                "internal/delivery/store.Store.eraseAttempts",
	"recover missed events":         "internal/delivery/store.Store.recover",
	"reschedule":                    "internal/delivery/store.Store.Reschedule",
	"prune activity":                "internal/activity.Prune",
	"prune notices":                 "internal/notice.Prune",
	"prune the audit log":           "internal/audit.Prune",
	"prune requests":                "internal/retention.Prune",
	"prune imports":                 "internal/contact/imports.Prune internal/contact/imports.deleteUnneeded",
	"erase requests":                "internal/inbound.Erase",
	"erase notes of imports":        "internal/retention.sweep.contacts",
	"delete a webhook":              "internal/retention.sweep.webhook",
	"delete an inbound webhook":     "internal/retention.sweep.inbound",
	"delete a tenant with contacts": "internal/retention.sweep.rows",
	"delete a tenant with events":   "internal/retention.sweep.rowsOfTenant",
	"delete a tenant with links":    "internal/member.RevokeLinks",
	"delete a tenant in relations":  "internal/relation.Detach",
	"evict responses":               "internal/quota.Trim",
	"fold":                          "internal/contact/search.indexer.run",
	"import":                        "internal/contact/imports.Import.apply",
	"import again":                  "internal/contact/imports.Import.forget",
	"undo an import":                "internal/contact/imports.Import.undo",
	"the rows of an archive, each of which is read once": "internal/move.importing.write",
}

// Every function that works in chunks has hostile rows.
func TestJobsHaveHostileRows(t *testing.T) {
	t.Parallel()
	found := chunkedIn(t, filepath.Join("..", ".."))
	for what, names := range chunked {
		if _, ok := jobs[what]; !ok && !strings.Contains(what, ",") {
			t.Errorf("there is no job %q", what)
		}
		for _, name := range strings.Fields(names) {
			at := slices.Index(found, name)
			if at < 0 {
				t.Errorf("%s does not work in chunks, or is listed twice: remove it from chunked", name)
				continue
			}
			found = slices.Delete(found, at, at+1)
		}
	}
	for _, name := range found {
		t.Errorf("%s works in chunks: add hostile rows for it to jobs, and its name to chunked", name)
	}
}

// inChunks are the calls that work in chunks; those of a method Run or Next do so if they are of chunks.
var inChunks = regexp.MustCompile(`\.(InChunks|DeleteInChunks|NextTimed|NextFor)$|[cC]hunks\.(Run|Next)$`)

// chunkedIn returns the functions that work in chunks, such as "internal/quota.Trim".
func chunkedIn(t *testing.T, root string) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, "internal", "*", "*.go"))
	if err == nil {
		var deeper []string
		deeper, err = filepath.Glob(filepath.Join(root, "internal", "*", "*", "*.go"))
		files = append(files, deeper...)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		folder = filepath.ToSlash(folder)
		if strings.HasSuffix(file, "_test.go") || folder == "internal/sqlite" || notDecoding[folder] == "helps tests" {
			continue
		}
		for _, function := range functionsIn(t, file) {
			calls := false
			ast.Inspect(function, func(node ast.Node) bool {
				call, ok := node.(*ast.CallExpr)
				calls = calls || ok && inChunks.MatchString(types.ExprString(call.Fun))
				return true
			})
			if name := folder + "." + nameOf(function); calls && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
