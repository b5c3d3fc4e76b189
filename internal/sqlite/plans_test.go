package sqlite_test

import (
	"database/sql"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/list"
	"contactbase/internal/testkit"
)

// scans matches a step of a query plan that reads a whole table of tenants' rows, by its name or the alias that our
// statements give it.
var scans = regexp.MustCompile(`^SCAN (c|s|d|a|e|p|t|contacts|events|deliveries|delivery_attempts|inbound_requests|_contactSearch|_idempotency|_inboundPeople)\b`)

// filtered matches a statement with a filter by time or by an indexed field, and tenantScans a step that reads all
// of a tenant's rows.
var (
	filtered    = regexp.MustCompile(":(createdSince|createdBefore|updatedSince|updatedBefore|indexed0)")
	tenantScans = regexp.MustCompile(`^SEARCH [cs] .*\(tenant=\?\)$`)
	cursorScans = regexp.MustCompile(`^SEARCH c .*\(tenant=\?\)$`) // by a statement that continues at a cursor
)

// The API's statements find rows through indexes, also in an installation without statistics.
func TestStatementsOfTheAPIUseIndexes(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	recorded := map[string]bool{}
	app := testkit.NewAppOn(t, testkit.ConnectRecording(func(text string) {
		mu.Lock()
		defer mu.Unlock()
		recorded[text] = true
	}))
	testkit.AddFields(t, app, &core.BoolField{Name: "vip"})
	useAPI(t, app)
	mu.Lock()
	statements := slices.Sorted(maps.Keys(recorded))
	mu.Unlock()
	checked := 0
	for _, text := range statements {
		steps := plan(t, app, text)
		checked += len(steps)
		for _, step := range steps {
			if scans.MatchString(step) || filtered.MatchString(text) && tenantScans.MatchString(step) ||
				strings.Contains(text, ":cursorValue") && cursorScans.MatchString(step) {
				t.Errorf("%s\n\t%s", step, text)
			}
		}
		for field, index := range map[string]string{"phone": "idx_contacts_phone", "externalId": "idx_contacts_externalId", "email": "idx__contactSearch_email"} {
			if strings.Contains(text, "`"+field+"` = :"+field) && !strings.Contains(strings.Join(steps, "\n"), index) {
				t.Errorf("%s is looked up without its index: %s\n\t%s", field, strings.Join(steps, "; "), text)
			}
		}
	}
	if checked < 50 {
		t.Errorf("the plans have %d steps: the statements were not recorded", checked)
	}
}

// plan returns the steps by which SQLite runs a statement, none for one that has no plan.
func plan(t *testing.T, app core.App, text string) (steps []string) {
	t.Helper()
	switch first, _, _ := strings.Cut(text, " "); strings.ToUpper(first) {
	case "SELECT", "INSERT", "UPDATE", "DELETE", "WITH":
	default:
		return nil
	}
	db := app.ConcurrentDB().(*dbx.DB).DB()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+text, noValues(text)...)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return steps
}

var parameter = regexp.MustCompile(`\?|:[a-zA-Z]\w*`)

// numbered matches a statement whose parameters have numbers.
var numbered = regexp.MustCompile(`\?[1-9]`)

// noValues returns NULL for each parameter of a statement: a plan does not depend on values.
func noValues(text string) (values []any) {
	named := map[string]bool{}
	if numbered.MatchString(text) {
		return make([]any, 9) // some numbers may be missing
	}
	for _, name := range parameter.FindAllString(text, -1) {
		switch {
		case name == "?":
			values = append(values, nil)
		case !named[name]:
			named[name] = true
			values = append(values, sql.Named(name[1:], nil))
		}
	}
	return values
}

// useAPI makes every kind of request.
func useAPI(t *testing.T, app core.App) {
	t.Helper()
	tenant := testkit.Record(t, app, "tenants", map[string]any{"name": "Acme", "apiEnabled": true, "rateLimit": 1_000_000}).Id
	client := testkit.NewClient(t, testkit.Serve(t, app), testkit.Key(t, app, tenant))
	expect := func(status int, method, path, body string, header ...string) *testkit.Answer {
		t.Helper()
		answer := client.Do(method, path, body, header...)
		if answer.Status != status {
			t.Fatalf("%s %s gives %d %s", method, path, answer.Status, answer.Body)
		}
		return answer
	}
	const contacts = "/api/ext/v1/contacts"
	ada := expect(201, "POST", contacts, `{"name":"Ada","email":"ada@example.com","phone":"+4930123456","externalId":"1"}`, "Idempotency-Key", "one").Data()["id"].(string)
	expect(201, "POST", contacts, `{"name":"Bob"}`)
	expect(200, "PATCH", contacts+"/"+ada, `{"company":"Analytical"}`)
	expect(200, "PUT", contacts+"/by-external-id/1", `{"name":"Ada L"}`)
	expect(200, "POST", contacts+"/batch", `{"items":[{"action":"create","contact":{"name":"Cleo"}},{"action":"upsert","match":"email","contact":{"email":"ada@example.com","name":"Ada"}}]}`)
	expect(200, "GET", contacts+"/"+ada, "")
	for _, field := range []string{"company", "vip"} {
		if err := list.AddIndex(app, field); err != nil {
			t.Fatal(err)
		}
	}
	for _, filter := range []string{
		"", "q=ada", "email=ada%40example.com", "phone=%2B4930123456", "externalId=1", "updatedSince=2020-01-01T00:00:00Z", "q=ada&phone=%2B4930123456",
		"updatedBefore=2999-01-01T00:00:00Z", "createdSince=2020-01-01T00:00:00Z", "createdBefore=2999-01-01T00:00:00Z", "q=ada&createdSince=2020-01-01T00:00:00Z",
		"company=Analytical", "company=Analytical&q=ada", "vip=false", "vip=false&company=Analytical&createdSince=2020-01-01T00:00:00Z",
	} {
		for _, sort := range []string{"createdAt", "-createdAt", "updatedAt", "name", "-name"} {
			page := "?limit=1&sort=" + sort + "&" + filter
			first := expect(200, "GET", contacts+page, "")
			if next := first.Header.Get("Link"); next != "" {
				address, err := url.Parse(strings.TrimPrefix(strings.Split(next, ">")[0], "<"))
				if err != nil {
					t.Fatal(err)
				}
				expect(200, "GET", address.RequestURI(), "")
			}
			expect(200, "GET", contacts+page+"&offset=1", "")
		}
	}
	for _, query := range []string{"", "?limit=1", "?types=contact.created", "?contact=" + ada, "?after="} {
		expect(200, "GET", "/api/ext/v1/events"+query, "")
	}
	token := testkit.Inbound(t, app, tenant, "full", nil)
	expect(200, "POST", "/api/hooks/"+token, `{"name":"Dora","email":"dora@example.com"}`)
	expect(200, "POST", "/api/hooks/"+token, fmt.Sprintf(`{"id":%q,"name":"Ada"}`, ada))
}
