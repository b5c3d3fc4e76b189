package routes_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/contact/imports"
	"contactbase/internal/extension"
	"contactbase/internal/testkit"
)

// The names of contacts that the hook of these tests changes or refuses.
const (
	changedName  = "to be changed"
	invalidName  = "to be invalid"
	vagueName    = "to be invalid as a whole"
	rejectedName = "to be rejected"
	failingName  = "to fail"
	panickyName  = "to panic"
	movedName    = "to be moved"
	lateName     = "to fail behind the write"
	afterName    = "to fail after the write"
)

// refusals are what clients are told, by the names that the hook refuses.
var refusals = map[string]string{
	invalidName: "is bad", vagueName: "is bad", rejectedName: "hort and stout",
	failingName: "extension of this installation failed", panickyName: "extension of this installation failed",
	movedName: "extension of this installation failed", lateName: "extension of this installation failed",
}

// extend binds a hook of an extension to each write of a contact. after counts the hooks that run after writes.
func extend(app core.App, other string, after *int) {
	extended := extension.Record(app)
	write := func(e *core.RecordEvent) error {
		switch e.Record.GetString("name") {
		case changedName:
			e.Record.Set("name", "Ada")
			e.Record.Set("company", "Engines")
		case invalidName:
			return validation.Errors{"name": validation.NewError("bad", "is bad")}
		case vagueName:
			return validation.NewError("bad", "is bad")
		case rejectedName:
			return router.NewApiError(http.StatusTeapot, "short and stout", nil)
		case failingName:
			return errors.New("a bug of the hook")
		case panickyName:
			panic("a bug of the hook")
		case movedName:
			e.Record.Set("tenant", other)
		case lateName:
			if err := e.Next(); err != nil {
				return err
			}
			return errors.New("a bug of the hook")
		}
		return e.Next()
	}
	extended.OnRecordCreate("contacts").BindFunc(write)
	extended.OnRecordUpdate("contacts").BindFunc(write)
	extended.OnRecordDelete("contacts").BindFunc(write)
	for _, bind := range []func(func(*core.RecordEvent) error) string{
		app.OnRecordAfterCreateSuccess("contacts").BindFunc, app.OnRecordAfterUpdateSuccess("contacts").BindFunc,
		app.OnRecordAfterDeleteSuccess("contacts").BindFunc,
	} {
		bind(func(e *core.RecordEvent) error {
			if *after++; e.Record.GetString("name") == afterName {
				return errors.New("a bug of the hook")
			}
			return e.Next()
		})
	}
}

// house is a served installation with a contact "stored", and one "second" that has only a phone.
type house struct {
	*fixture
	t       *testing.T
	headers http.Header
	admin   *testkit.Client
	inbound string
	id      string
	second  string
	after   int // hooks that have run after writes
}

func newHouse(t *testing.T, extended bool) *house {
	t.Helper()
	client, f := newAPI(t)
	headers := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, everything...)).Header
	h := &house{fixture: f, t: t, headers: headers, admin: newAdmin(t, f)}
	h.inbound = testkit.Inbound(t, f.App, f.tenant, "full", nil)
	h.id = create(t, client, `{"name":"stored","externalId":"stored","email":"stored@example.com"}`)
	h.second = create(t, client, `{"name":"second","phone":"+4930123456"}`)
	if extended {
		extend(f.App, testkit.Tenant(t, f.App, "Other"), &h.after)
	}
	return h
}

// name gives the second contact a name, without a hook.
func (h *house) name(columns string) {
	h.t.Helper()
	testkit.Execute(h.t, h.App, "UPDATE contacts SET "+columns+" WHERE id = {:id}", dbx.Params{"id": h.second})
}

// do sends a request, whose answer the API's document need not have: the hook chooses its status.
func (h *house) do(method, path, body string, header ...string) string {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), method, h.base+path, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	request.Header = h.headers.Clone()
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", response.StatusCode, text)
}

// page is do for a superuser.
func (h *house) page(method, path, body string) string {
	h.t.Helper()
	return h.do(method, path, body, "Authorization", h.admin.Header.Get("Authorization"))
}

// throughImport checks and perhaps starts an import, and returns what it says.
func (h *house) throughImport(csv string, start bool) string {
	h.t.Helper()
	done := h.admin.Do("GET", h.imported(csv, start), "").Data()
	return fmt.Sprint(done["status"], done["counts"], done["refusals"])
}

// imported checks and perhaps starts an import, and returns its path.
func (h *house) imported(csv string, start bool) string {
	h.t.Helper()
	stored := h.admin.Do("POST", "/api/integrations/imports?tenant="+h.tenant+"&name=c.csv", csv, "Content-Type", "text/csv").Data()
	path, plan := "/api/integrations/imports/"+stored["id"].(string), `{"mapping":["name","company","email"],"match":"email"}`
	action := "/check"
	if start {
		action = "/start"
	}
	h.admin.Do("POST", path+action, plan)
	if err := imports.Work(h.t.Context(), h.App); err != nil {
		h.t.Fatal(err)
	}
	return path
}

// volatile matches what differs between two runs.
var volatile = regexp.MustCompile(`\b[0-9a-z]{15}\b|evt_\w+|\d{4}-\d\d-\d\d[T ][\d:.]+Z|"requestId":"\w+"|imp_\w+`)

// state returns the rows that a write may change.
func (h *house) state() string {
	h.t.Helper()
	var all strings.Builder
	for _, query := range []string{
		"SELECT tenant = '" + h.tenant + "' AS mine, name, company, email, phone, externalId FROM contacts ORDER BY rowid",
		"SELECT type, payload FROM events WHERE tenant = '" + h.tenant + "' ORDER BY rowid",
		"SELECT email, text FROM _contactSearch WHERE tenant = '" + h.tenant + "' ORDER BY rowid",
	} {
		var rows []dbx.NullStringMap
		if err := h.App.DB().NewQuery(query).All(&rows); err != nil {
			h.t.Fatal(err)
		}
		for _, row := range rows {
			fmt.Fprintln(&all, row)
		}
	}
	return volatile.ReplaceAllString(all.String(), "X")
}

// waysToWrite are all ways to write contacts. Each writes one with the given name and company, "" for none.
func waysToWrite() map[string]func(h *house, name, company string) string {
	object := func(name, company, more string) string {
		if company != "" {
			more = fmt.Sprintf(`,"company":%q`, company) + more
		}
		return fmt.Sprintf(`{"name":%q%s}`, name, more)
	}
	tool := func(call string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + call + `}`
	}
	columns := func(name, company string) string {
		if company == "" {
			return fmt.Sprintf("name = '%s'", name)
		}
		return fmt.Sprintf("name = '%s', company = '%s'", name, company)
	}
	merge := func(h *house, name, company, more string) string {
		h.name(columns(name, company))
		return h.do("POST", mergePath(h.id), fmt.Sprintf(`{"from":[%q],"fields":{"name":%[1]q}%s}`, h.second, more))
	}
	return map[string]func(h *house, name, company string) string{
		"create": func(h *house, name, company string) string {
			return h.do("POST", contactsPath, object(name, company, ""))
		},
		"update": func(h *house, name, company string) string {
			return h.do("PATCH", contactsPath+"/"+h.id, object(name, company, ""))
		},
		"upsert": func(h *house, name, company string) string {
			return h.do("PUT", contactsPath+"/by-external-id/new", object(name, company, ""))
		},
		"batch": func(h *house, name, company string) string {
			return h.do("POST", contactsPath+"/batch", fmt.Sprintf(`{"items":[
				{"action":"create","contact":%[1]s},{"action":"update","id":%[2]q,"contact":%[1]s},
				{"action":"upsert","contact":%[3]s},{"action":"create","contact":{"name":"Last"}}]}`,
				object(name, company, ""), h.id, object(name, company, `,"externalId":"batch"`)))
		},
		"inbound": func(h *house, name, company string) string {
			return h.do("POST", "/api/hooks/"+h.inbound, object(name, company, `,"email":"in@example.com"`))
		},
		"inbound array": func(h *house, name, company string) string {
			return h.do("POST", "/api/hooks/"+h.inbound, `[`+object(name, company, `,"email":"in@example.com"`)+
				`,{"name":"Last","email":"last@example.com"}]`)
		},
		"import": func(h *house, name, company string) string {
			return h.throughImport(fmt.Sprintf("name,company,email\n%s,%s,i@example.com\nLast,,last@example.com\n", name, company), true)
		},
		"check": func(h *house, name, company string) string {
			return h.throughImport(fmt.Sprintf("name,company,email\nFirst,,i@example.com\n%s,%s,i@example.com\n", name, company), false)
		},
		"merge":   func(h *house, name, company string) string { return merge(h, name, company, "") },
		"dry run": func(h *house, name, company string) string { return merge(h, name, company, `,"dryRun":true`) },
		"tool to create": func(h *house, name, company string) string {
			return h.do("POST", "/mcp", tool(`{"name":"create_contact","arguments":`+object(name, company, "")+`}`),
				"Accept", "application/json, text/event-stream")
		},
		"tool to update": func(h *house, name, company string) string {
			return h.do("POST", "/mcp", tool(`{"name":"update_contact","arguments":`+object(name, company, `,"id":"`+h.id+`"`)+`}`),
				"Accept", "application/json, text/event-stream")
		},
		"preview": func(h *house, name, company string) string {
			return string(h.admin.Do("POST", "/api/integrations/inbound/preview",
				fmt.Sprintf(`{"tenant":%q,"body":%s}`, h.tenant, object(name, company, `,"email":"in@example.com"`))).Body)
		},
		"upsert of one": func(h *house, name, company string) string {
			return h.do("PUT", contactsPath+"/by-external-id/stored", object(name, company, ""))
		},
		"atomic batch": func(h *house, name, company string) string {
			return h.do("POST", contactsPath+"/batch", fmt.Sprintf(`{"atomic":true,"items":[{"action":"create","contact":{"name":"Last"}},
				{"action":"create","contact":%s}]}`, object(name, company, "")))
		},
		"page": func(h *house, name, company string) string {
			return h.page("PATCH", "/api/integrations/contacts/"+h.id, object(name, company, ""))
		},
		"page to merge": func(h *house, name, company string) string {
			h.name(columns(name, company))
			return h.page("POST", "/api/integrations/tenants/"+h.tenant+"/contacts/"+h.id+"/merge",
				fmt.Sprintf(`{"from":[%q],"fields":{"name":%[1]q}}`, h.second))
		},
		"record to create": func(h *house, name, company string) string {
			return h.page("POST", "/api/collections/contacts/records", object(name, company, `,"tenant":"`+h.tenant+`"`))
		},
		"record to update": func(h *house, name, company string) string {
			return h.page("PATCH", "/api/collections/contacts/records/"+h.id, object(name, company, ""))
		},
	}
}

// isPreview reports whether a door writes nothing.
func isPreview(door string) bool { return door == "check" || door == "dry run" || door == "preview" }

func isMerge(door string) bool {
	return door == "merge" || door == "dry run" || door == "page to merge"
}

// isRecord reports whether a door is PocketBase's, which has its own answers for errors of hooks.
func isRecord(door string) bool { return strings.HasPrefix(door, "record") }

// A hook that changes a contact does so through every door: rows, search rows, events and answers are those of a
// caller who has sent the changed contact to an installation without a hook.
func TestHooksChangeWhatEveryDoorWrites(t *testing.T) {
	t.Parallel()
	for door, write := range waysToWrite() {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			plain, extended := newHouse(t, false), newHouse(t, true)
			want := volatile.ReplaceAllString(write(plain, "Ada", "Engines"), "X")
			got := volatile.ReplaceAllString(write(extended, changedName, ""), "X")
			if got != want {
				t.Errorf("the answer is\n%s\nwithout the hook it is\n%s", got, want)
			}
			got, want = extended.state(), plain.state()
			if isMerge(door) { // the other contact was stored without a hook
				got = strings.ReplaceAll(got, changedName, "Ada")
				want = strings.ReplaceAll(want, "company:{Engines true} email:{ true}", "company:{ true} email:{ true}")
				want = strings.ReplaceAll(want, `"+4930123456","company":"Engines","externalId":null`, `"+4930123456","company":null,"externalId":null`)
			}
			if got != want {
				t.Errorf("stored is\n%s\nwithout the hook it is\n%s", got, want)
			}
			if isPreview(door) != (extended.after == 0) {
				t.Errorf("%d hooks have run after writes", extended.after)
			}
		})
	}
}

// A hook that refuses a contact does so through every door, with the same code, and nothing of it is stored.
func TestHooksRefuseWhatEveryDoorWrites(t *testing.T) {
	t.Parallel()
	for door, write := range waysToWrite() {
		for name, says := range refusals {
			if door == "record to create" && name == movedName {
				continue // a superuser chooses the tenant, and so may the hook
			}
			t.Run(door+" "+name, func(t *testing.T) {
				t.Parallel()
				h := newHouse(t, true)
				h.name("name = '" + name + "'")
				before := h.state()
				got := write(h, name, "")
				if strings.HasPrefix(got, "20") && isRecord(door) || !strings.Contains(got, says) && !isRecord(door) {
					t.Errorf("the answer is %s", got)
				}
				after := h.state()
				for _, line := range strings.Split(strings.TrimSpace(after), "\n") {
					if !strings.Contains(before, line) && !strings.Contains(strings.ToLower(line), "last") {
						t.Errorf("the refused write has left %s", line)
					}
				}
				if items := door == "batch" || door == "inbound array" || door == "import"; items != strings.Contains(after, "Last") {
					t.Errorf("after a refused item, stored is %s", after)
				}
			})
		}
	}
}

// A hook that fails after a write changes nothing: with an error, the caller would write again. PocketBase's own routes
// answer as PocketBase does.
func TestHooksThatFailAfterAWrite(t *testing.T) {
	t.Parallel()
	for door, write := range waysToWrite() {
		t.Run(door, func(t *testing.T) {
			t.Parallel()
			plain, extended := newHouse(t, false), newHouse(t, true)
			want := volatile.ReplaceAllString(write(plain, afterName, "Engines"), "X")
			if got := volatile.ReplaceAllString(write(extended, afterName, "Engines"), "X"); got != want && !isRecord(door) {
				t.Errorf("the answer is\n%s\nwithout the hook it is\n%s", got, want)
			}
			if got, want := extended.state(), plain.state(); got != want {
				t.Errorf("stored is\n%s\nwithout the hook it is\n%s", got, want)
			}
		})
	}
	for door, remove := range waysToDelete() {
		t.Run(door+" a contact", func(t *testing.T) {
			t.Parallel()
			plain, extended := newDoomed(t, afterName, false), newDoomed(t, afterName, true)
			want := volatile.ReplaceAllString(remove(plain), "X")
			if got := volatile.ReplaceAllString(remove(extended), "X"); got != want && !isRecord(door) {
				t.Errorf("the answer is\n%s\nwithout the hook it is\n%s", got, want)
			}
			if got, want := extended.state(), plain.state(); got != want {
				t.Errorf("stored is\n%s\nwithout the hook it is\n%s", got, want)
			}
		})
	}
}

// The status and the code of a refusal are those of the hook's error.
func TestCodesOfRefusals(t *testing.T) {
	t.Parallel()
	h := newHouse(t, true)
	for name, want := range map[string][2]string{
		invalidName:  {"400 ", `"code":"validation_failed"`},
		vagueName:    {"400 ", `"fields":{"contact":{"code":`},
		rejectedName: {"418 ", `"code":"rejected"`},
		failingName:  {"500 ", `"code":"internal_error"`},
		movedName:    {"500 ", `"code":"internal_error"`},
	} {
		got := h.do("POST", contactsPath, `{"name":"`+name+`"}`)
		if !strings.HasPrefix(got, want[0]) || !strings.Contains(got, want[1]) || strings.Contains(got, "bug") {
			t.Errorf("%s: %s", name, got)
		}
		got = h.do("POST", contactsPath+"/batch", `{"items":[{"action":"create","contact":{"name":"`+name+`"}}]}`)
		if !strings.HasPrefix(got, "200 ") || !strings.Contains(got, want[1]) {
			t.Errorf("%s in a batch: %s", name, got)
		}
	}
	if got := h.do("POST", contactsPath, `{"name":"`+invalidName+`"}`); !strings.Contains(got, `"name":{"code":`) {
		t.Errorf("the invalid field is missing: %s", got)
	}
	// a deletion, as a part of a merge
	h.name("name = '" + rejectedName + "'")
	if got := h.do("POST", mergePath(h.id), fmt.Sprintf(`{"from":[%q]}`, h.second)); !strings.HasPrefix(got, "418 ") {
		t.Errorf("a merge whose deletion is refused: %s", got)
	}
}
