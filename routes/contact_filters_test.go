package routes_test

import (
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/list"
	"contactbase/internal/testkit"
)

// indexFilters adds an index for each of the fields.
func indexFilters(t *testing.T, app core.App, fields ...string) {
	t.Helper()
	for _, field := range fields {
		if err := list.AddIndex(app, field); err != nil {
			t.Fatalf("%s: %v", field, err)
		}
	}
}

// The company and custom fields are filters once they have an index, with typed and exact values.
func TestListByIndexedFields(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	if _, err := f.App.DB().Update("tenants", dbx.Params{"rateLimit": 1_000_000}, dbx.HashExp{"id": f.tenant}).Execute(); err != nil {
		t.Fatal(err)
	}
	testkit.AddEveryKind(t, f.App)
	other := testkit.NewClient(t, f.base, testkit.Key(t, f.App, testkit.Tenant(t, f.App, "Other")))
	full := `"company":"Zoë & Co","note":"a+b","second":"x+y@example.com","site":"https://example.com/?a=1","score":-1.5,"vip":true,` +
		`"born":"2001-02-03T04:05:06.789Z","size":"M","group":"` + testkit.RelatedID + `"`
	var ids []string
	for i := range 6 {
		body := fmt.Sprintf(`{"name":"Ada%d",%s}`, i, full)
		if i%2 == 1 {
			body = fmt.Sprintf(`{"name":"Ada%d","company":"zoë & co"}`, i)
		}
		ids = append(ids, client.Do("POST", contactsPath, body).Data()["id"].(string))
		other.Do("POST", contactsPath, `{"name":"Ada",`+full+`}`)
	}
	values := map[string]string{
		"company": "Zoë & Co", "note": "a+b", "second": "x+y@example.com", "site": "https://example.com/?a=1", "score": "-1.5", "vip": "true",
		"born": "2001-02-03T05:05:06.789+01:00", "size": "M", "group": testkit.RelatedID,
	}
	for field, value := range values {
		got := client.Do("GET", contactsPath+"?"+url.Values{field: {value}}.Encode(), "")
		if got.Status != 400 || got.Code() != "invalid_parameter" || got.FieldCode(field) == "" || !strings.Contains(string(got.Body), "contactbase contact index "+field) {
			t.Errorf("%s without an index gives %d %s", field, got.Status, got.Body)
		}
		indexFilters(t, f.App, field)
	}
	for _, query := range []string{"company=Zo%C3%AB+%26+Co", "vip=true&q=ada&size=M", "group=" + testkit.RelatedID + "&sort=name"} {
		page := contactsPath + "?limit=2&" + query
		first := client.Do("GET", page, "")
		next := linkTarget(first.Header.Get("Link"))
		if got := shape(t, first, ids) + shape(t, client.Do("GET", next, ""), ids); got != "02+4" || !strings.Contains(next, "cursor=") {
			t.Errorf("walking %q gives %q", query, got)
		}
		if got := shape(t, client.Do("GET", page+"&offset=1", ""), ids); got != "24" {
			t.Errorf("%q gives %q from its second contact", query, got)
		}
		if got := client.Do("HEAD", page, ""); got.Status != 200 || len(got.Body) > 0 || got.Header.Get("Link") != first.Header.Get("Link") {
			t.Errorf("HEAD with %s gives %d", query, got.Status)
		}
	}
	for query, want := range map[string]string{
		"company=zo%C3%AB+%26+co": "135", "company=Zoe%CC%88+%26+Co": "024", "company=Zo%C3%AB": "", "vip=false": "135", "score=0": "135", "score=-15e-1": "024", "score=1": "",
		"size=S": "", "size=XL": "", "note=A%2BB": "", "note=+a%2Bb": "", "born=2001-02-03T04:05:06Z": "", "born=2001-02-03T05:05:06.789+01:00": "024",
		"second=x+y@example.com": "024", "group=" + testkit.SecondRelatedID: "", "group=nobodynobodynob": "", "vip=true&q=ada4": "4", "vip=true&email=a@b.co": "",
	} {
		if got := shape(t, client.Do("GET", contactsPath+"?"+query, ""), ids); got != want {
			t.Errorf("%q gives %q, not %q", query, got, want)
		}
	}
	for query, code := range map[string]string{
		"vip=1": "invalid_value", "vip=TRUE": "invalid_value", "vip=": "invalid_value", "score=ten": "invalid_value", "score=0x10": "invalid_value", "score=Inf": "invalid_value",
		"score=1e999": "invalid_value", "score=+5": "invalid_value", "born=yesterday": "invalid_value", "born=5": "invalid_value", "company=": "invalid_value", "company=+": "invalid_value",
		"note=": "invalid_value", "note=a&note=b": "invalid_value", "note=%00": "invalid_characters",
		// neither of these fields can be a filter
		"name=Ada0": "unknown_parameter", "bio=x": "unknown_parameter", "tags=a": "unknown_parameter", "groups=x": "unknown_parameter", "photo=x": "unknown_parameter",
		"meta=1": "unknown_parameter", "place=x": "unknown_parameter", "seen=x": "unknown_parameter", "internal=x": "unknown_parameter", "pin=x": "unknown_parameter",
		"tenant=x": "unknown_parameter", "Note=a": "unknown_parameter", "note%60=a": "unknown_parameter", "created=x": "unknown_parameter",
	} {
		field, _, _ := strings.Cut(strings.ReplaceAll(query, "%60", "`"), "=")
		if got := client.Do("GET", contactsPath+"?"+query, ""); got.Status != 400 || got.Code() != "invalid_parameter" || got.FieldCode(field) != code {
			t.Errorf("%q gives %d %s", query, got.Status, got.Body)
		}
	}
	for _, name := range []string{"createdSince", "createdBefore", "updatedSince", "updatedBefore"} {
		for _, value := range []string{"", "yesterday", "2026-01-31", "1769860800"} {
			if got := client.Do("GET", contactsPath+"?"+name+"="+value, ""); got.Status != 400 || got.Code() != "invalid_parameter" || got.FieldCode(name) != "invalid_value" {
				t.Errorf("%s=%s gives %d %s", name, value, got.Status, got.Body)
			}
		}
	}
	if err := list.RemoveIndex(f.App, "vip"); err != nil {
		t.Fatal(err)
	}
	if got := client.Do("GET", contactsPath+"?vip=true", ""); got.Status != 400 || got.FieldCode("vip") == "" {
		t.Errorf("a filter whose index was removed gives %d %s", got.Status, got.Body)
	}
}

// A parameter takes precedence over a custom field of its name, and an index that an administrator adds in the
// dashboard counts if it serves.
func TestFiltersOfOtherNamesAndIndexes(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.AddFields(t, f.App, &core.TextField{Name: "limit"}, &core.TextField{Name: "q"}, &core.TextField{Name: "order"}, &core.TextField{Name: "code"})
	created := client.Do("POST", contactsPath, `{"name":"Ada","limit":"5","q":"x","order":"o","code":"c"}`)
	if got := client.Do("GET", contactsPath+"?limit=5&q=ada", ""); got.Status != 200 || !strings.Contains(string(got.Body), created.Data()["id"].(string)) {
		t.Errorf("the parameters give %d %s", got.Status, got.Body)
	}
	admin := newAdmin(t, f)
	const filters = "/api/integrations/contacts/filters"
	for _, field := range []string{"limit", "q", "name", "nothing", "", "x` ON contacts"} {
		if got := admin.Do("POST", filters, `{"field":"`+field+`"}`); got.Status != 400 || got.FieldCode("field") == "" {
			t.Errorf("adding an index for %q gives %d %s", field, got.Status, got.Body)
		}
	}
	testkit.ChangeContacts(t, f.App, func(contacts *core.Collection) {
		contacts.AddIndex("idx_part", false, "tenant, `order`", "`order` != ''")
		contacts.AddIndex("idx_case", false, "tenant, `order` COLLATE NOCASE", "")
		contacts.AddIndex("idx_code", false, "`tenant`, [code]", "")
	})
	for query, status := range map[string]int{"order=o": 400, "code=c": 200, "code=c&sort=name": 200} {
		if got := client.Do("GET", contactsPath+"?"+query, ""); got.Status != status {
			t.Errorf("%s gives %d %s", query, got.Status, got.Body)
		}
	}
}
