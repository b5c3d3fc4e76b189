package contactbase_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	contactbase "contactbase/clients/go"
)

func page(next string, ids ...string) func() (*http.Response, error) {
	contacts := make([]string, len(ids))
	for i, id := range ids {
		contacts[i] = strings.Replace(adaJSON, "0mm8yqpxck3w9xa", id, 1)
	}
	body := `{"data":[` + strings.Join(contacts, ",") + `],"hasMore":` + map[bool]string{true: "false", false: "true"}[next == ""] + `}`
	if next == "" {
		return answer(http.StatusOK, body)
	}
	return answer(http.StatusOK, body, "Link", "<https://elsewhere.example/api/ext/v1/contacts?cursor="+next+`&limit=2>; rel="next"`)
}

func TestList(t *testing.T) {
	t.Parallel()
	client, n := newClient(t, page("a%2Bb", "x1"))
	got, err := client.Contacts.List(t.Context(), contactbase.ListOptions{
		Q: "ada & co", Email: "a@example.com", Phone: "+44", ExternalID: "crm-1", Sort: "-updatedAt", Limit: 2, Offset: 4, Cursor: "c",
		UpdatedSince: time.Date(2026, 3, 2, 9, 15, 4, 0, time.UTC), UpdatedBefore: time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
		CreatedSince: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), CreatedBefore: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC),
		Company: "Ada & Co", Custom: map[string]string{"vip": "true", "note": "a+b"},
	})
	if err != nil || len(got.Data) != 1 || !got.HasMore || got.Cursor != "a+b" {
		t.Errorf("%+v, %v", got, err)
	}
	query := n.sent[0].URL.Query()
	for name, want := range map[string]string{
		"q": "ada & co", "email": "a@example.com", "phone": "+44", "externalId": "crm-1", "sort": "-updatedAt", "limit": "2",
		"offset": "4", "cursor": "c", "updatedSince": "2026-03-02T09:15:04Z", "updatedBefore": "2027-01-01T00:00:00Z",
		"createdSince": "2025-01-01T00:00:00Z", "createdBefore": "2026-01-01T00:00:00Z", "company": "Ada & Co", "vip": "true", "note": "a+b",
	} {
		if query.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, query.Get(name), want)
		}
	}
	if _, err := client.Contacts.List(t.Context(), contactbase.ListOptions{}); err != nil || n.sent[1].URL.RawQuery != "" {
		t.Errorf("the zero value asks for %q: %v", n.sent[1].URL.RawQuery, err)
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	client, n := newClient(t, answer(http.StatusOK, `{"data":{"count":100000,"more":true}}`), answer(http.StatusOK, `{"data":{"count":7}}`))
	got, err := client.Contacts.Count(t.Context(), contactbase.ListOptions{
		Q: "ada", Company: "Engines", Custom: map[string]string{"vip": "true"}, Sort: "name", Limit: 1, Offset: 2, Cursor: "c",
	})
	if err != nil || got.N != 100_000 || !got.More {
		t.Errorf("%+v, %v", got, err)
	}
	if sent := n.sent[0].URL; sent.Path != "/api/ext/v1/contacts/count" || sent.Query().Encode() != "company=Engines&q=ada&vip=true" {
		t.Errorf("it asks for %s", sent)
	}
	if got, err = client.Contacts.Count(t.Context(), contactbase.ListOptions{}); err != nil || got != (contactbase.Count{N: 7}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	client, n := newClient(t, page("two", "x1", "x2"), page("three", "x3"), page(""))
	var ids []string
	for contact, err := range client.Contacts.All(t.Context(), contactbase.ListOptions{Q: "ada", Offset: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, contact.ID)
	}
	if got := strings.Join(ids, " "); got != "x1 x2 x3" {
		t.Errorf("the contacts are %s", got)
	}
	for i, want := range []string{"limit=200&offset=1&q=ada", "cursor=two&limit=200&q=ada", "cursor=three&limit=200&q=ada"} {
		if host := n.sent[i].URL.Host; host != n.sent[0].URL.Host {
			t.Errorf("page %d is requested from %s", i, host)
		}
		if got := n.sent[i].URL.Query().Encode(); got != want {
			t.Errorf("page %d is requested by %s, want %s", i, got, want)
		}
	}
}

// Who has enough asks for no further page.
func TestAllUntil(t *testing.T) {
	t.Parallel()
	client, n := newClient(t, page("two", "x1", "x2"))
	count := 0
	for _, err := range client.Contacts.All(t.Context(), contactbase.ListOptions{}) {
		if count++; err != nil || count == 2 {
			break
		}
	}
	if count != 2 || len(n.sent) != 1 {
		t.Errorf("%d requests", len(n.sent))
	}
}

func TestAllFails(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t, page("two", "x1"), refusal(401, "invalid_api_key"))
	count := 0
	for contact, err := range client.Contacts.All(t.Context(), contactbase.ListOptions{}) {
		count++
		var refused *contactbase.Error
		if count == 2 && (!errors.As(err, &refused) || contact.ID != "") {
			t.Errorf("%+v, %v", contact, err)
		}
	}
	if count != 2 {
		t.Errorf("it comes to %d", count)
	}
}
