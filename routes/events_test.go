package routes_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/credential"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

const eventsPath = "/api/ext/v1/events"

// feedPage is a page of the feed.
type feedPage struct {
	Data    []json.RawMessage
	HasMore bool
	Cursor  string
}

func readFeed(t *testing.T, client *testkit.Client, query string) feedPage {
	t.Helper()
	answer := client.Do("GET", eventsPath+query, "")
	var page feedPage
	if err := json.Unmarshal(answer.Body, &page); err != nil || answer.Status != 200 || page.Data == nil {
		t.Fatalf("%s gives %d %s", query, answer.Status, answer.Body)
	}
	return page
}

// payloads returns the bodies of the tenant's events in commit order.
func payloads(t *testing.T, f *fixture) (bodies []string) {
	t.Helper()
	err := f.App.DB().NewQuery("SELECT payload FROM events WHERE tenant = {:tenant} ORDER BY rowid").Bind(dbx.Params{"tenant": f.tenant}).Column(&bodies)
	if err != nil {
		t.Fatal(err)
	}
	return bodies
}

// An event that claims the id of the feed's beginning is written with another, and pages go on behind it.
func TestFeedBehindAForgedEvent(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	client.Do("POST", contactsPath, `{"name":"One"}`)
	forged := `{"id":"evt_` + event.Beginning + `","type":"contact.created","timestamp":"2026-01-01T00:00:00.000Z",` +
		`"data":{"id":"a1a1a1a1a1a1a1a","name":"Two","email":null,"phone":null,"company":null,"externalId":null}}`
	got := client.Do("POST", "/api/hooks/"+testkit.Inbound(t, f.App, f.tenant, "upsert", nil), forged)
	if got.Status != 200 {
		t.Fatalf("the forged event is answered %d %s", got.Status, got.Body)
	}
	client.Do("POST", contactsPath, `{"name":"Three"}`)
	client.Do("POST", contactsPath, `{"name":"Four"}`)
	var names []string
	for page := readFeed(t, client, "?limit=2&after="); len(names) < 10; page = readFeed(t, client, "?limit=2&after="+page.Cursor) {
		for _, body := range page.Data {
			var sent struct{ Data struct{ Name string } }
			if err := json.Unmarshal(body, &sent); err != nil {
				t.Fatal(err)
			}
			names = append(names, sent.Data.Name)
		}
		if !page.HasMore {
			break
		}
	}
	if fmt.Sprint(names) != "[One Two Three Four]" {
		t.Errorf("the feed has %v", names)
	}
}

func TestFeedInPages(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	start := readFeed(t, client, "")
	if len(start.Data) != 0 || start.HasMore || start.Cursor == "" {
		t.Fatalf("the beginning is %+v", start)
	}
	var locations []string
	for i := range 5 {
		locations = append(locations, client.Do("POST", contactsPath, fmt.Sprintf(`{"name":"Zoë <%d>"}`, i)).Location())
	}
	client.Do("PATCH", locations[0], `{"company":"Engines"}`)
	want := payloads(t, f)
	for _, from := range []string{"", start.Cursor} {
		var got []string
		for page := (feedPage{Cursor: from, HasMore: true}); page.HasMore; {
			page = readFeed(t, client, "?limit=4&after="+page.Cursor)
			for _, body := range page.Data {
				got = append(got, string(body))
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("behind %q there is\n%v, not\n%v", from, got, want)
		}
	}
	if page := readFeed(t, client, ""); len(page.Data) != 0 || !strings.Contains(want[5], page.Cursor) {
		t.Errorf("without a place the answer is %+v", page)
	}
	for query, n := range map[string]int{
		"&types=contact.updated":                         1,
		"&types=contact.updated,contact.created":         6,
		"&contact=" + locations[0][len(contactsPath)+1:]: 2,
		"&limit=1000&contact=nobody":                     0,
	} {
		if page := readFeed(t, client, "?after="+query); len(page.Data) != n || page.HasMore {
			t.Errorf("%s gives %d events, more is %t", query, len(page.Data), page.HasMore)
		}
	}
	head := client.Do("HEAD", eventsPath+"?wait=30", "") // does not wait
	if streamed := client.Do("HEAD", eventsPath, "", "Accept", "text/event-stream"); streamed.Status != 200 || streamed.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("HEAD of a stream gives %d %v", streamed.Status, streamed.Header)
	}
	if head.Status != 200 || len(head.Body) != 0 {
		t.Errorf("HEAD gives %d %s", head.Status, head.Body)
	}
}

func TestFeedRefuses(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	client.Do("POST", contactsPath, `{"name":"Ada"}`)
	other := testkit.NewClient(t, f.base, testkit.Key(t, f.App, testkit.Tenant(t, f.App, "Other")))
	for query, field := range map[string]string{
		"after=x": "after", "after=evt_UPPER0123456789": "after", "after=evt_0123456789abcdefg": "after",
		"limit=0": "limit", "limit=1001": "limit", "limit=ten": "limit", "wait=-1": "wait", "wait=31": "wait", "wait=1.5": "wait",
		"types=": "types", "types=contact.created,x": "types", "types=webhook.ping": "types", "contact=": "contact",
		"offset=1": "offset", "after=&after=": "after", "contact=%00": "contact",
	} {
		for _, accept := range []string{"*/*", "text/event-stream"} {
			if got := client.Do("GET", eventsPath+"?"+query, "", "Accept", accept); got.Status != 400 || got.Code() != "invalid_parameter" || got.FieldCode(field) == "" {
				t.Errorf("%s gives %d %s", query, got.Status, got.Body)
			}
		}
	}
	if got := client.Do("GET", eventsPath, "", "Accept", "text/event-stream", "Last-Event-ID", "17"); got.Status != 400 || got.FieldCode("Last-Event-ID") == "" {
		t.Errorf("a malformed Last-Event-ID gives %d %s", got.Status, got.Body)
	}
	place := readFeed(t, client, "").Cursor
	for _, accept := range []string{"application/json", "text/event-stream"} {
		for who, asked := range map[*testkit.Client]string{client: "evt_0mm8yqpxck3w9xb", other: place} {
			if got := who.Do("GET", eventsPath+"?after="+asked, "", "Accept", accept); got.Status != 410 || got.Code() != "cursor_expired" {
				t.Errorf("a place of nobody, or somebody else, gives %d %s", got.Status, got.Body)
			}
		}
	}
	writer := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, "contacts:write"))
	if got := writer.Do("GET", eventsPath, ""); got.Status != 403 || got.Code() != "insufficient_permission" {
		t.Errorf("a key that only writes gives %d %s", got.Status, got.Body)
	}
	testkit.Execute(t, f.App, "DELETE FROM events", nil)
	readFeed(t, client, "?after="+place)
}

// A request waits for the first matching event, and returns it without asking again.
func TestFeedWaits(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	if page := readFeed(t, client, "?wait=1"); len(page.Data) != 0 || page.Cursor == "" {
		t.Errorf("a second later there is %+v", page)
	}
	pages := make(chan feedPage)
	go func() { pages <- readFeed(t, client, "?after=&wait=30&types=contact.updated") }()
	go func() { pages <- readFeed(t, client, "?wait=30&after=") }()
	ada := client.Do("POST", contactsPath, `{"name":"Ada"}`).Location()
	if page := <-pages; len(page.Data) != 1 || !strings.Contains(string(page.Data[0]), "contact.created") {
		t.Fatalf("the first is answered %+v", page)
	}
	client.Do("PATCH", ada, `{"company":"Engines"}`)
	if page := <-pages; len(page.Data) != 1 || !strings.Contains(string(page.Data[0]), "contact.updated") || page.HasMore {
		t.Errorf("the second is answered %+v", page)
	}
}

// endings are the ways to end a key's running requests. ended is closed once the stream has ended.
func endings(t *testing.T, f *fixture, key string, ended <-chan struct{}) map[string]func() {
	save := func(collection, id, field string, value any) {
		t.Helper()
		record, err := f.App.FindRecordById(collection, id)
		if err != nil {
			t.Fatal(err)
		}
		record.Set(field, value)
		if err := f.App.Save(record); err != nil {
			t.Fatal(err)
		}
	}
	var id string
	if err := f.App.DB().NewQuery("SELECT id FROM api_keys WHERE prefix = {:prefix}").Bind(dbx.Params{"prefix": key[:12]}).Row(&id); err != nil {
		t.Fatal(err)
	}
	return map[string]func(){
		"revoked":    func() { save("api_keys", id, "revoked", time.Now()) },
		"changed":    func() { save("api_keys", id, "permissions", []string{"contacts:write"}) },
		"no feature": func() { save("tenants", f.tenant, "apiEnabled", false) },
		"terminated": func() {
			f.App.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
				Func: func(e *core.TerminateEvent) error {
					<-ended
					return e.Next()
				},
				Priority: -12000, // before running requests are waited for
			})
			if err := f.App.OnTerminate().Trigger(&core.TerminateEvent{App: f.App}); err != nil {
				t.Error(err)
			}
		},
	}
}

// A waiting request and a stream end with the key, API access and the server.
func TestFeedEnds(t *testing.T) {
	t.Parallel()
	for ending, want := range map[string]int{"revoked": 401, "changed": 403, "no feature": 403, "terminated": 200} {
		t.Run(ending, func(t *testing.T) {
			t.Parallel()
			client, f := newAPI(t)
			events := openStream(t, client, "")
			client.Do("POST", contactsPath, `{"name":"Ada"}`)
			place := (<-events).LastEventID
			statuses := make(chan int)
			go func() { statuses <- client.Do("GET", eventsPath+"?wait=30&after="+place, "").Status }()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				for event := range events {
					t.Errorf("there is an event: %+v", event)
				}
			}()
			endings(t, f, client.Header.Get("X-API-Key"), ended)[ending]()
			<-ended
			// it may be too late
			if got := <-statuses; got != want && (ending != "terminated" || got != http.StatusServiceUnavailable) {
				t.Errorf("who waits is answered %d", got)
			}
		})
	}
}

// An expiring key ends its running requests, although nothing else has changed.
func TestFeedEndsWhenTheKeyExpires(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	for life := time.Second; ; life *= 2 { // until it is long enough to begin
		key := testkit.Record(t, f.App, "api_keys", map[string]any{"tenant": f.tenant, "name": "short", "expires": time.Now().Add(life)})
		client := testkit.NewClient(t, f.base, credential.Minted(key))
		statuses := make(chan int, 1)
		go func() { statuses <- client.Do("GET", eventsPath+"?after=&wait=30", "").Status }()
		response := requestStream(t, client, "")
		if response.StatusCode != http.StatusOK {
			<-statuses
			continue
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Error(err)
		}
		if got := <-statuses; got != http.StatusUnauthorized {
			t.Errorf("who waits is answered %d", got)
		}
		return
	}
}

// Polling for rare events advances with each page, so that retention does not overtake a client that
// polls often enough.
func TestPollingForRareEvents(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	ada := client.Do("POST", contactsPath, `{"name":"Ada"}`).Location()
	const rare = "&types=contact.updated"
	place := readFeed(t, client, "?after="+rare).Cursor
	for day := range 3 {
		for range 3 {
			client.Do("POST", contactsPath, `{"name":"Grace"}`)
		}
		page := readFeed(t, client, "?limit=1&after="+place+rare)
		if len(page.Data) != 0 || page.HasMore || page.Cursor == place {
			t.Errorf("on day %d the page is %+v", day, page)
		}
		place = page.Cursor
		testkit.Execute(t, f.App, "DELETE FROM events WHERE tenant = {:tenant}", dbx.Params{"tenant": f.tenant})
		if page := readFeed(t, client, "?after="+place+rare); page.Cursor != place {
			t.Errorf("on an idle day %d the page is %+v", day, page)
		}
	}
	client.Do("PATCH", ada, `{"company":"Engines"}`)
	if page := readFeed(t, client, "?after="+place+rare); len(page.Data) != 1 {
		t.Errorf("in the end the page is %+v", page)
	}
}

// A request that has to skip thousands of events returns its progress, and the client asks again: each request counts.
func TestFeedDoesNotWaitBeforeTheEnd(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.Execute(t, f.App, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5100)
		INSERT INTO events (id, tenant, type, contact, payload, created) SELECT printf('many%011d', i), {:tenant}, 'contact.created', 'c', '{}', '' FROM n`,
		dbx.Params{"tenant": f.tenant})
	page := readFeed(t, client, "?after=&contact=nobody&wait=30")
	if !page.HasMore || page.Cursor == "" || len(page.Data) != 0 {
		t.Errorf("the first page is %+v", page)
	}
	if page := readFeed(t, client, "?contact=nobody&after="+page.Cursor); page.HasMore || page.Cursor != "evt_many00000005100" {
		t.Errorf("the second page is %+v", page)
	}
}

// An event created by a superuser may have no body. The others still arrive.
func TestFeedWithoutABody(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	testkit.Execute(t, f.App, "INSERT INTO events (id, tenant, type, contact, created) VALUES ('byhand000000000', {:tenant}, 'contact.created', 'c', '')", dbx.Params{"tenant": f.tenant})
	page, err := event.ReadPage(f.App, f.tenant, event.Oldest, event.Filter{}, 10)
	if err != nil || len(page.Events) != 1 || string(page.Events[0].Body) != "null" {
		t.Errorf("the page is %+v, %v", page, err)
	}
}

// Readers at the same place share a page, but not across an erasure, and each with its own key.
func TestSharedPages(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	other := testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant))
	client.Do("POST", contactsPath, `{"name":"Ada"}`)
	for _, name := range []string{"Ada", "erased"} {
		testkit.Execute(t, f.App, "UPDATE events SET payload = replace(payload, 'Ada', {:name})", dbx.Params{"name": name})
		for _, reader := range []*testkit.Client{client, other} {
			if page := readFeed(t, reader, "?after="); len(page.Data) != 1 || !strings.Contains(string(page.Data[0]), name) {
				t.Errorf("the page is %+v, want %s", page, name)
			}
			if got := <-openStream(t, reader, "?after="); !strings.Contains(got.Data, name) {
				t.Errorf("the event is %+v, want %s", got, name)
			}
		}
	}
	ending, going := openStream(t, other, ""), openStream(t, client, "")
	testkit.Execute(t, f.App, "UPDATE api_keys SET revoked = {:now} WHERE prefix = {:prefix}",
		dbx.Params{"now": time.Now().UTC().Format("2006-01-02 15:04:05.000Z"), "prefix": other.Header.Get("X-API-Key")[:12]})
	for event := range ending {
		t.Errorf("a revoked key has %+v", event)
	}
	client.Do("POST", contactsPath, `{"name":"Grace"}`)
	if got := <-going; !strings.Contains(got.Data, "Grace") {
		t.Errorf("the event is %+v", got)
	}
}
