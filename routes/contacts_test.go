package routes_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/tests"

	"contactbase/internal/testkit"
)

// newAPI returns a client with a key of a new tenant that has all permissions.
func newAPI(t *testing.T) (*testkit.Client, *fixture) {
	t.Helper()
	return serve(t, testkit.NewApp(t))
}

// newStoppedAPI is newAPI with a stopped clock: spent limits do not refill.
func newStoppedAPI(t *testing.T) (*testkit.Client, *fixture) {
	t.Helper()
	now := time.Now()
	return serve(t, testkit.NewAppAt(t, func() time.Time { return now }))
}

func serve(t *testing.T, app *tests.TestApp) (*testkit.Client, *fixture) {
	t.Helper()
	f := &fixture{App: app, tenant: testkit.Tenant(t, app, "Acme")}
	f.base = testkit.Serve(t, app)
	return testkit.NewClient(t, f.base, testkit.Key(t, app, f.tenant)), f
}

func TestCreate(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	long := strings.Repeat("ä", 256)
	for _, tc := range []struct {
		name, body string
		status     int
		code       string
		field      string
		fieldCode  string
	}{
		{"no name or email", `{"phone":"+4930123456"}`, 400, "validation_failed", "name", "required"},
		{"empty object", `{}`, 400, "validation_failed", "email", "required"},
		{"empty strings mean no value", `{"name":"  ","email":""}`, 400, "validation_failed", "name", "required"},
		{"not JSON", `{"name":`, 400, "invalid_json", "", ""},
		{"an array", `[{"name":"A"}]`, 400, "invalid_json", "", ""},
		{"two values", `{"name":"A"} {}`, 400, "invalid_json", "", ""},
		{"not UTF-8", "{\"name\":\"\xff\"}", 400, "invalid_json", "", ""},
		{"a number for a name", `{"name":1}`, 400, "validation_failed", "name", "invalid_type"},
		{"a list for an email", `{"name":"A","email":["a@b.co"]}`, 400, "validation_failed", "email", "invalid_type"},
		{"long name", `{"name":"` + long + `"}`, 400, "validation_failed", "name", "too_long"},
		{"longest name", `{"name":"` + long[:510] + `"}`, 201, "", "", ""},
		{"control character", `{"name":"a\u0000b"}`, 400, "validation_failed", "name", "invalid_characters"},
		{"bad email", `{"email":"ada@"}`, 400, "validation_failed", "email", "invalid_email"},
		{"invisible character", `{"email":"ada@example.com\u200b"}`, 400, "validation_failed", "email", "invalid_email"},
		{"dot at the end", `{"email":"ada@example.com."}`, 400, "validation_failed", "email", "invalid_email"},
		{"long email", `{"email":"` + strings.Repeat("a", 250) + `@b.co"}`, 400, "validation_failed", "email", "too_long"},
		{"phone without plus", `{"name":"A","phone":"030 123456"}`, 400, "validation_failed", "phone", "invalid_phone"},
		{"phone with a zero first", `{"name":"A","phone":"+0301234"}`, 400, "validation_failed", "phone", "invalid_phone"},
		{"phone too long", `{"name":"A","phone":"+1234567890123456"}`, 400, "validation_failed", "phone", "invalid_phone"},
		{"unknown field", `{"name":"A","surname":"B"}`, 400, "validation_failed", "surname", "unknown_field"},
		{"only an email", `{"email":"ada@example.com"}`, 201, "", "", ""},
		{"byte order mark", "\ufeff" + `{"email":"ada@example.com"}`, 201, "", "", ""},
		{"two byte order marks", "\ufeff\ufeff" + `{"email":"ada@example.com"}`, 400, "invalid_json", "", ""},
		{"the same email again", `{"email":"ada@example.com"}`, 201, "", "", ""},
		{"what was read", `{"id":"x","createdAt":"x","updatedAt":"x","name":"A","email":null,"phone":null,"company":null,"externalId":null}`, 201, "", "", ""},
		{"an external id", `{"name":"A","externalId":" crm-1 "}`, 201, "", "", ""},
		{"the same external id", `{"name":"B","externalId":"crm-1"}`, 400, "validation_failed", "externalId", "duplicate_external_id"},
	} {
		answer := client.Do("POST", "/api/ext/v1/contacts", tc.body)
		if answer.Status != tc.status || answer.Code() != tc.code || tc.field != "" && answer.FieldCode(tc.field) != tc.fieldCode {
			t.Errorf("%s: got %d %s", tc.name, answer.Status, answer.Body)
		}
	}
}

func TestCreateNormalizes(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	answer := client.Do("POST", "/api/ext/v1/contacts",
		`{"name":" Zoe\u0308 ","email":" Zoe@Example.com ","phone":"+49 (30) 12.34-56/7","company":"  "}`)
	if answer.Status != http.StatusCreated {
		t.Fatalf("got %d %s", answer.Status, answer.Body)
	}
	contact := answer.Data()
	for field, want := range map[string]any{
		"name": "Zoë", "email": "Zoe@Example.com", "phone": "+49301234567", "company": nil, "externalId": nil,
	} {
		if got, there := contact[field]; !there || got != want {
			t.Errorf("%s is %v, not %v", field, got, want)
		}
	}
	if answer.Header.Get("Location") != client.Base+"/api/ext/v1/contacts/"+contact["id"].(string) {
		t.Errorf("Location is %q", answer.Header.Get("Location"))
	}
	read := client.Do("GET", answer.Header.Get("Location"), "")
	if string(read.Body) != string(answer.Body) || read.Header.Get("ETag") != answer.Header.Get("ETag") {
		t.Errorf("reading gives %s, not %s", read.Body, answer.Body)
	}
}

func TestReadAndUpdate(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	created := client.Do("POST", "/api/ext/v1/contacts", `{"name":"Ada","email":"ada@example.com","company":"Engines"}`)
	path, tag := created.Header.Get("Location"), created.Header.Get("ETag")

	if got := client.Do("GET", path, "", "If-None-Match", `"x", W/`+tag); got.Status != 304 {
		t.Errorf("an unchanged contact gives %d", got.Status)
	}
	if got := client.Do("GET", "/api/ext/v1/contacts/unknown", ""); got.Status != 404 || got.Code() != "not_found" {
		t.Errorf("an unknown contact gives %d %s", got.Status, got.Body)
	}
	if got := client.Do("PATCH", "/api/ext/v1/contacts/unknown", `{"name":"B"}`); got.Status != 404 {
		t.Errorf("changing an unknown contact gives %d %s", got.Status, got.Body)
	}
	other := testkit.NewClient(t, f.base, testkit.Key(t, f.App, testkit.Tenant(t, f.App, "Other")))
	for _, method := range []string{"GET", "PATCH"} {
		body := ""
		if method == "PATCH" {
			body = `{"name":"Mallory"}`
		}
		if got := other.Do(method, path, body); got.Status != 404 {
			t.Errorf("%s of another tenant's contact gives %d", method, got.Status)
		}
	}
	if got := client.Do("PATCH", path, `{"name":null,"email":""}`); got.Status != 400 || got.FieldCode("name") != "required" {
		t.Errorf("clearing name and email gives %d %s", got.Status, got.Body)
	}
	if got := client.Do("PATCH", path, `{"name":"B"}`, "If-Match", `"stale"`); got.Status != 412 || got.Code() != "precondition_failed" {
		t.Errorf("a stale tag gives %d %s", got.Status, got.Body)
	}
	if got := client.Do("PATCH", path, `{"name":"Ada"}`); got.Status != 200 || got.Header.Get("ETag") != tag {
		t.Errorf("changing nothing gives %d %s", got.Status, got.Body)
	}
	changed := client.Do("PATCH", path, `{"name":"Ada Lovelace","company":null}`, "If-Match", tag)
	if changed.Status != 200 || changed.Data()["name"] != "Ada Lovelace" || changed.Data()["company"] != nil ||
		changed.Data()["email"] != "ada@example.com" || changed.Header.Get("ETag") == tag {
		t.Errorf("a change gives %d %s", changed.Status, changed.Body)
	}
	if changed.Data()["updatedAt"] == changed.Data()["createdAt"] {
		t.Error("a change does not move updatedAt")
	}
	if got := client.Do("HEAD", path, ""); got.Status != 200 || len(got.Body) != 0 || got.Header.Get("ETag") != changed.Header.Get("ETag") {
		t.Errorf("HEAD gives %d with %d bytes", got.Status, len(got.Body))
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	var ids []string
	for i := range 7 {
		created := client.Do("POST", "/api/ext/v1/contacts", fmt.Sprintf(`{"name":"N%d","email":"N%d@Example.com","externalId":"x%d","phone":"+4930000%d"}`, 6-i, i, i, i))
		ids = append(ids, created.Data()["id"].(string))
	}
	for query, want := range map[string]string{
		"":                                  "0123456",
		"limit=2":                           "01+",
		"limit=2&offset=5":                  "56",
		"limit=7":                           "0123456",
		"limit=1000":                        "0123456",
		"offset=9":                          "",
		"sort=-createdAt":                   "6543210",
		"sort=name":                         "6543210",
		"sort=-name":                        "0123456",
		"sort=updatedAt&limit=1":            "0+",
		"sort=-updatedAt&limit=1":           "6+",
		"email=n3@example.COM":              "3",
		"externalId=x4":                     "4",
		"phone=%2B49300005":                 "5",
		"phone=+49300005":                   "5",
		"email=n3@example.com&q=N4":         "",
		"updatedSince=2020-01-01T00:00:00Z": "0123456",
		"updatedSince=2999-01-01T00:00:00Z": "",
		"q=n3@example&limit=1":              "3",
		"q=example&limit=2&offset=5":        "56",
		"q=example&sort=name&limit=3":       "654+",
	} {
		answer := client.Do("GET", "/api/ext/v1/contacts?"+query, "")
		if got := shape(t, answer, ids); got != want {
			t.Errorf("%q gives %q, not %q: %s", query, got, want, answer.Body)
		}
	}
	for _, query := range []string{"limit=2", "limit=3&sort=-name", "limit=2&q=example", "limit=2&sort=-updatedAt&q=n", "limit=1&sort=name&email=n1@example.com"} {
		var walked strings.Builder
		next := "/api/ext/v1/contacts?" + query
		for next != "" {
			answer := client.Do("GET", next, "")
			if answer.Status != 200 {
				t.Fatalf("%s gives %d %s", next, answer.Status, answer.Body)
			}
			walked.WriteString(strings.TrimSuffix(shape(t, answer, ids), "+"))
			next = linkTarget(answer.Header.Get("Link"))
		}
		all := shape(t, client.Do("GET", "/api/ext/v1/contacts?"+strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(query, "limit=1", "limit=9"), "limit=2", "limit=9"), "limit=3", "limit=9"), ""), ids)
		if walked.String() != all {
			t.Errorf("walking %q gives %q, not %q", query, walked.String(), all)
		}
	}
	for query, field := range map[string]string{
		"limit=0": "limit", "limit=x": "limit", "limit=": "limit", "limit=1.5": "limit", "offset=-1": "offset",
		"limit=99999999999999999999": "limit", "sort=phone": "sort", "surprise=1": "surprise", "limit=1&limit=2": "limit",
		"cursor=x": "cursor", "updatedSince=yesterday": "updatedSince", "email=": "email", "phone=abc": "phone",
		"externalId=": "externalId", "q=" + strings.Repeat("a", 201): "q", "q=%00": "q", "q=%ff": "q", "q=%zz": "query", "a;b": "query",
	} {
		answer := client.Do("GET", "/api/ext/v1/contacts?"+query, "")
		if answer.Status != 400 || answer.Code() != "invalid_parameter" || answer.FieldCode(field) == "" {
			t.Errorf("%q gives %d %s", query, answer.Status, answer.Body)
		}
	}
	first := linkTarget(client.Do("GET", "/api/ext/v1/contacts?limit=2", "").Header.Get("Link"))
	for _, bad := range []string{first + "&offset=2", first + "&sort=name"} {
		if answer := client.Do("GET", bad, ""); answer.Status != 400 {
			t.Errorf("%q gives %d", bad, answer.Status)
		}
	}
}

// A count has the filters of the list, and takes none of its pages and orders.
func TestCount(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	other := testkit.NewClient(t, f.base, testkit.Key(t, f.App, testkit.Tenant(t, f.App, "Other")))
	other.Do("POST", contactsPath, `{"name":"Ada","company":"Engines"}`)
	for i := range 3 {
		client.Do("POST", contactsPath, fmt.Sprintf(`{"name":"Ada%d","company":"Engines","email":"ada@example.com"}`, i))
	}
	client.Do("POST", contactsPath, `{"name":"Grace"}`)
	indexFilters(t, f.App, "company")
	for query, want := range map[string]string{
		"": "4", "q=ada": "3", "q=ada1": "1", "q=a": "4", "email=ADA@example.com": "3", "company=Engines&q=ada2": "1", "q=nobody": "0",
		"createdSince=2100-01-01T00:00:00Z": "0", "updatedSince=2000-01-01T00:00:00Z": "4",
	} {
		if got := client.Do("GET", contactsPath+"/count?"+query, ""); got.Status != 200 || string(got.Body) != `{"data":{"count":`+want+`}}` {
			t.Errorf("%q counts %d %s, not %s", query, got.Status, got.Body, want)
		}
	}
	for query, field := range map[string]string{
		"limit=1": "limit", "offset=0": "offset", "cursor=x": "cursor", "sort=name": "sort", "surprise=1": "surprise", "phone=abc": "phone", "q=%zz": "query",
	} {
		got := client.Do("GET", contactsPath+"/count?"+query, "")
		if got.Status != 400 || got.Code() != "invalid_parameter" || got.FieldCode(field) == "" {
			t.Errorf("%q gives %d %s", query, got.Status, got.Body)
		}
	}
	writer := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, "contacts:write"))
	if got := writer.Do("GET", contactsPath+"/count", ""); got.Status != 403 || got.Code() != "insufficient_permission" {
		t.Errorf("without contacts:read, a count gives %d %s", got.Status, got.Body)
	}
}

// shape returns the position in ids of each contact of a list, and a plus sign if there is more.
func shape(t *testing.T, answer *testkit.Answer, ids []string) string {
	t.Helper()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
		HasMore bool `json:"hasMore"`
	}
	if err := json.Unmarshal(answer.Body, &list); err != nil {
		t.Fatalf("%v: %s", err, answer.Body)
	}
	var out strings.Builder
	for _, contact := range list.Data {
		for i, id := range ids {
			if id == contact.ID {
				fmt.Fprint(&out, i)
			}
		}
	}
	if list.HasMore {
		out.WriteString("+")
	}
	if list.HasMore != (answer.Header.Get("Link") != "") {
		t.Errorf("hasMore is %v with the Link header %q", list.HasMore, answer.Header.Get("Link"))
	}
	return out.String()
}

// A proxy that compresses makes the tag weak or appends to it. The client still writes with it, and reads with it.
func TestTagsFromProxies(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	created := client.Do("POST", contactsPath, `{"name":"Ada","externalId":"1"}`)
	path, tag := created.Header.Get("Location"), created.Header.Get("ETag")
	digits := strings.Trim(tag, `"`)
	for sent, matches := range map[string]bool{
		tag: true, "W/" + tag: true, `"` + digits + `-gzip"`: true, `W/"` + digits + `--gzip"`: true, `"` + digits + `;br"`: true,
		`"` + digits + `,1"`: true, `"x", W/"` + digits + `-br"`: true, `"x" ,` + tag: true, "*": true,
		`"` + digits[1:] + `"`: false, `"` + digits[:23] + `"`: false, `"` + digits[:23] + `-gzip"`: false, `"x` + digits + `"`: false,
		`W/"stale"`: false, `""`: false, "W/": false, digits: false,
	} {
		write, read := 412, 200
		if matches {
			write, read = 200, 304
		}
		if got := client.Do("PATCH", path, `{"name":"Ada"}`, "If-Match", sent); got.Status != write {
			t.Errorf("PATCH with If-Match: %s gives %d %s", sent, got.Status, got.Body)
		}
		if got := client.Do("PUT", upsertPath+"1", `{"name":"Ada"}`, "If-Match", sent); got.Status != write {
			t.Errorf("PUT with If-Match: %s gives %d %s", sent, got.Status, got.Body)
		}
		if got := client.Do("GET", path, "", "If-None-Match", sent); got.Status != read {
			t.Errorf("GET with If-None-Match: %s gives %d", sent, got.Status)
		}
	}
}

func linkTarget(link string) string {
	target, _, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
	_, path, _ := strings.Cut(target, contactsPath)
	if path == "" {
		return ""
	}
	return contactsPath + path
}

// A page has its length, however large it is: chunks would take a packet more.
func TestPagesHaveALength(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	for range 10 {
		client.Do("POST", contactsPath, `{"name":"Ada","company":"`+strings.Repeat("x", 250)+`"}`)
	}
	if got := client.Do("GET", contactsPath, ""); got.Header.Get("Content-Length") != strconv.Itoa(len(got.Body)) ||
		len(got.Body) < 4096 {
		t.Errorf("a page of %d bytes has the length %q", len(got.Body), got.Header.Get("Content-Length"))
	}
}
