package routes_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// newFuzzAPI returns a client whose key is practically unlimited.
func newFuzzAPI(f *testing.F) *testkit.Client {
	f.Helper()
	app := testkit.NewApp(f)
	tenant := testkit.Record(f, app, "tenants", map[string]any{"name": "Acme", "apiEnabled": true, "rateLimit": 100_000_000})
	return testkit.NewClient(f, testkit.Serve(f, app), testkit.Key(f, app, tenant.Id))
}

// FuzzCreate sends any body with any content type. The response is a contact or a client error in the envelope, and
// matches the OpenAPI document, as the client checks.
func FuzzCreate(f *testing.F) {
	base := newFuzzAPI(f)
	for _, body := range []string{
		`{"name":"Ada Lovelace","email":"ada@example.com","phone":"+44 20 7946 0001","company":"Engines","externalId":"x"}`,
		`{"name":"Zoe\u0308 \ud83e\uddd1","email":null,"phone":""}`,
		`{"name":1,"email":[],"phone":{},"company":true,"surname":"x"}`,
		`{"name":"\u0000\ud800","email":"a@b"}`,
		`{"name":"a","name":"b"}`,
		`{"id":"x","createdAt":1e999,"updatedAt":{}}`,
		`[]`, `null`, `"x"`, `1`, `{`, ``, "\ufeff{}", "\xff", `{"name":"a"}{}`, `{"":""}`,
		strings.Repeat("[", 20_000), `{"name":"` + strings.Repeat("a", 300) + `"}`,
	} {
		f.Add(body, "application/json")
	}
	for _, contentType := range []string{"", "application/json; charset=utf-8", "application/json; charset=latin1", "application/vnd.x+json", "text/plain", "application/json;", "application/x-www-form-urlencoded", "+json", "a/b/c"} {
		f.Add(`{"name":"a"}`, contentType)
	}
	f.Fuzz(func(t *testing.T, body, contentType string) {
		if strings.ContainsFunc(contentType, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			t.Skip("no header can hold it")
		}
		client := *base
		client.TB = t
		answer := client.Do(http.MethodPost, contactsPath, body, "Content-Type", contentType)
		switch {
		case answer.Status == http.StatusCreated:
			id, _ := answer.Data()["id"].(string)
			if read := client.Do(http.MethodGet, contactsPath+"/"+id, ""); string(read.Body) != string(answer.Body) {
				t.Errorf("%q is created as %s and read as %s", body, answer.Body, read.Body)
			}
		case answer.Status < 400 || answer.Status >= 500 || answer.Code() == "":
			t.Errorf("%q as %q gives %d %s", body, contentType, answer.Status, answer.Body)
		}
	})
}

// FuzzListQuery sends any query. The response is a list or a client error in the envelope.
func FuzzListQuery(f *testing.F) {
	base := newFuzzAPI(f)
	for _, body := range []string{
		`{"name":"Ada Lovelace","email":"ada@example.com","phone":"+442079460001","externalId":"x"}`,
		`{"name":"Zoë Müller","company":"50% *_\"Sale\""}`, `{"name":"山田 太郎"}`,
	} {
		if answer := base.Do(http.MethodPost, contactsPath, body); answer.Status != http.StatusCreated {
			f.Fatalf("%s gives %s", body, answer.Body)
		}
	}
	first := base.Do(http.MethodGet, contactsPath+"?limit=1", "").Header.Get("Link")
	for _, query := range []string{
		"", "limit=1&offset=1", "limit=0", "limit=-1", "limit=1e3", "limit=%31", "offset=9223372036854775807", "offset=9223372036854775808",
		"q=ada", "q=%25", "q=_", "q=*", `q="`, "q=%E5%B1%B1", "q=+%2B44+20", "q=0044", "q=a+b+c+d", "q=%00", "q=%ff", "q='%3B--", "q=" + strings.Repeat("a+", 100),
		"sort=name&limit=2", "sort=-updatedAt&q=a", "email=ADA@example.com", "phone=%2B442079460001", "externalId=x&q=ada",
		"updatedSince=2026-01-31T12:00:00Z", "updatedSince=0000-01-01T00:00:00Z", "updatedSince=9999-12-31T23:59:59.999999999%2B00:00",
		"cursor=x", "cursor=e30", "cursor=eyJzIjoiY3JlYXRlZEF0IiwidiI6IiIsImkiOiJ4In0", "a=b", "q=a&q=b", ";", "%", "&&=", "limit",
		strings.TrimPrefix(linkTarget(first), contactsPath+"?"),
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		address := contactsPath + "?" + query
		parsed, err := url.Parse(address)
		if err != nil || parsed.Fragment != "" || strings.ContainsAny(query, "# ") {
			t.Skip("no client sends it like this")
		}
		client := *base
		client.TB = t
		answer := client.Do(http.MethodGet, address, "")
		switch answer.Status {
		case http.StatusOK:
			list, isList := answer.JSON()["data"].([]any)
			more, isBool := answer.JSON()["hasMore"].(bool)
			if !isList || !isBool || more != (answer.Header.Get("Link") != "") {
				t.Errorf("%q gives %s", query, answer.Body)
			}
			if next := linkTarget(answer.Header.Get("Link")); next != "" {
				if following := client.Do(http.MethodGet, next, ""); following.Status != http.StatusOK || len(list) == 0 {
					t.Errorf("the page behind %q is %q, which gives %d %s", query, next, following.Status, following.Body)
				}
			}
		case http.StatusBadRequest:
			if answer.Code() != "invalid_parameter" {
				t.Errorf("%q gives %s", query, answer.Body)
			}
		default:
			t.Errorf("%q gives %d %s", query, answer.Status, answer.Body)
		}
	})
}
