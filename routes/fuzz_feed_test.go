package routes_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// FuzzFeed asks for the feed with any query, and any Last-Event-ID and Accept. The response is a page, the head of a
// stream, or a client error in the envelope.
func FuzzFeed(f *testing.F) {
	base := newFuzzAPI(f)
	if answer := base.Do(http.MethodPost, contactsPath, `{"name":"Ada"}`); answer.Status != http.StatusCreated {
		f.Fatalf("%s", answer.Body)
	}
	cursor, _ := base.Do(http.MethodGet, eventsPath+"?after=&limit=1", "").JSON()["cursor"].(string)
	for _, query := range []string{"", "after=", "after=" + cursor, "after=evt_x", "after=&limit=1001", "limit=0", "types=contact.created,%20contact.deleted", "types=,", "contact=", "after=%00", "x=1", "after=a&after=b"} {
		for _, id := range []string{"", cursor, strings.ToUpper(cursor), cursor + " ", "evt_000000000000000", "0", "ü"} {
			f.Add(query, id, "text/event-stream")
		}
		f.Add(query, cursor, `text/event-stream;q=0.5, application/json;q="0.6"`)
	}
	f.Fuzz(func(t *testing.T, query, id, accept string) {
		address := eventsPath + "?" + query
		parsed, err := url.Parse(address)
		if err != nil || parsed.Fragment != "" || strings.ContainsAny(query, "# ") || parsed.Query().Has("wait") {
			t.Skip("no client sends it like this, or it waits")
		}
		if strings.ContainsFunc(id+accept, func(r rune) bool { return r < ' ' || r == 0x7f }) || strings.TrimSpace(id) != id {
			t.Skip("no header can hold it")
		}
		client := *base
		client.TB = t
		page := client.Do(http.MethodGet, address, "")
		if _, isPage := page.JSON()["data"].([]any); isPage != (page.Status == http.StatusOK) || page.Status >= 500 {
			t.Errorf("%q gives %d %s", query, page.Status, page.Body)
		}
		for _, header := range [][]string{{"Accept", accept}, {"Accept", "text/event-stream", "Last-Event-ID", id}} {
			if head := client.Do(http.MethodHead, address, "", header...); head.Status != http.StatusOK && (head.Status < 400 || head.Status >= 500) {
				t.Errorf("%q with %q gives %d", query, header, head.Status)
			}
		}
	})
}
