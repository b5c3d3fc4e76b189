package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"contactbase/e2e/linear"
)

const (
	linearClients = 16
	linearGroups  = 4  // at a time
	groupRequests = 80 // after which a group is done
	linearTimeout = 5 * time.Second
)

// lab is clients that write to a few contacts at a time and record what they see.
type lab struct {
	t     *testing.T
	key   string   // of the API
	hooks []string // the paths of inbound webhooks that may delete
	dirty bool     // whether reads may show what is lost later

	drawings string // the folder of the drawings of histories that are not linearizable

	bases    atomic.Pointer[[]string] // of the servers
	groups   atomic.Int64
	tokens   atomic.Int64
	requests atomic.Int64 // over all laps
	cursor   string       // of the end of the feed

	mu      sync.Mutex
	began   time.Time
	history *linear.History
	active  []*group
	done    []*group
	fates   map[linear.Fate]int

	unexpected []string // what no response should say
}

func newLab(t *testing.T) *lab {
	// which outlives the test
	return &lab{t: t, drawings: filepath.Join(os.TempDir(), fmt.Sprintf("contactbase-linear-%d", os.Getpid()))}
}

// sendTo makes the clients send to these servers.
func (l *lab) sendTo(bases ...string) { l.bases.Store(&bases) }

// fault notes what no response should say.
func (l *lab) fault(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unexpected = append(l.unexpected, fmt.Sprintf(format, args...))
}

// await waits until that many more requests have a response.
func (l *lab) await(more int) {
	l.t.Helper()
	count := func() int {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.fates[linear.Answered]
	}
	enough := count() + more
	await(l.t, "requests", func() bool { return count() >= enough })
}

// now returns the time of the history.
func (l *lab) now() int64 { return int64(time.Since(l.began)) }

// lap records a history while faults happen, and returns the errors in it. After finish, no server has a request of
// the clients any more.
func (l *lab) lap(faults, finish func()) (problems []string) {
	l.t.Helper()
	l.began, l.history, l.active, l.done, l.fates = time.Now(), &linear.History{Dirty: l.dirty}, nil, nil, map[linear.Fate]int{}
	for range linearGroups {
		l.active = append(l.active, l.newGroup())
	}
	if l.cursor == "" {
		l.cursor = l.newReader().end()
	}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	var readers []*linearReader
	for n := range linearClients {
		clients.Go(func() { l.work(n, stop) })
	}
	for range 2 {
		r := l.newReader()
		readers = append(readers, r)
		clients.Go(func() { r.follow(stop) })
	}
	faults()
	close(stop)
	clients.Wait()
	finish()
	l.lookAgain()
	for _, r := range readers {
		r.readAll()
		l.history.Readers = append(l.history.Readers, r.seen)
	}
	whole := l.newReader()
	whole.readAll()
	l.cursor, l.history.Feed = whole.cursor, whole.events
	l.requests.Add(int64(l.fates[linear.Answered] + l.fates[linear.Open]))
	l.t.Logf("%d requests to %d groups in %s, %d events: answered %d, open %d, refused %d", len(l.history.Ops), len(l.active)+len(l.done),
		time.Since(l.began).Round(time.Second), len(whole.events), l.fates[linear.Answered], l.fates[linear.Open], l.fates[linear.Refused])
	return append(l.unexpected, l.history.Check(l.drawings)...)
}

// work sends requests until it is told to stop.
func (l *lab) work(number int, stop <-chan struct{}) {
	c := l.client(number)
	for {
		select {
		case <-stop:
			return
		default:
		}
		g := l.take()
		if c.send(g, g.next(l)) != linear.Answered {
			<-time.After(rand.N(50 * time.Millisecond))
		}
	}
}

// take returns an active group, and replaces one that is done.
func (l *lab) take() *group {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := rand.IntN(len(l.active))
	if l.active[at].left <= 0 {
		l.done = append(l.done, l.active[at])
		l.active[at] = l.newGroup()
	}
	return l.active[at]
}

// lookAgain reads all contacts, so that a lost acknowledged write shows.
func (l *lab) lookAgain() {
	groups := slices.Concat(l.done, l.active)
	var next atomic.Int64
	var clients sync.WaitGroup
	for n := range linearClients {
		c := l.client(n)
		clients.Go(func() {
			for at := next.Add(1) - 1; at < int64(len(groups)); at = next.Add(1) - 1 {
				for c.send(groups[at], groups[at].search()) != linear.Answered {
					<-time.After(20 * time.Millisecond)
				}
			}
		})
	}
	clients.Wait()
}

// linearClient is one of the clients.
type linearClient struct {
	*lab
	number int
	server int // to which it sends
	http   *http.Client
}

func (l *lab) client(number int) *linearClient {
	transport := &http.Transport{}
	l.t.Cleanup(transport.CloseIdleConnections)
	return &linearClient{l, number, number, &http.Client{Timeout: linearTimeout, Transport: transport}}
}

// send sends a request and records it.
func (c *linearClient) send(g *group, q *linearRequest) linear.Fate {
	op := linear.Op{Client: c.number, Group: g.number, Request: q.Request, Call: c.now()}
	answer, err := c.try(q)
	op.Return = c.now()
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		op.Response.Fate = linear.Refused
	case err != nil:
		op.Response.Fate = linear.Open
	default:
		op.Response = q.read(c.lab, g, answer)
	}
	if op.Response.Fate != linear.Answered {
		c.server++
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history.Ops = append(c.history.Ops, op)
	if c.fates[op.Response.Fate]++; op.Response.Fate != linear.Refused {
		g.left--
	}
	return op.Response.Fate
}

// try sends a request once. Without GetBody, net/http does not repeat requests with an Idempotency-Key by itself.
func (c *linearClient) try(q *linearRequest) (*answer, error) {
	bases := *c.bases.Load()
	request, err := http.NewRequestWithContext(c.t.Context(), q.method, bases[c.server%len(bases)]+q.path, strings.NewReader(q.Body))
	if err != nil {
		return nil, err
	}
	request.GetBody = nil
	request.Header.Set("X-API-Key", c.key)
	request.Header.Set("Content-Type", "application/json")
	for name, value := range q.header {
		request.Header.Set(name, value)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return &answer{response.StatusCode, response.Header, body}, err
}

// linearReader reads the feed.
type linearReader struct {
	*linearClient
	cursor string
	seen   linear.Reader
	events []linear.Event
}

func (l *lab) newReader() *linearReader {
	return &linearReader{linearClient: l.client(linearClients), cursor: l.cursor}
}

// end returns the cursor of the end of the feed.
func (r *linearReader) end() string {
	page := r.page("")
	for page == nil {
		page = r.page("")
	}
	return page.Cursor
}

// feedPage is a page of the feed.
type feedPage struct {
	Data []struct {
		ID, Type, MergedInto string
		Data                 linearContact
		Previous             map[string]any
	}
	HasMore bool
	Cursor  string
}

func (r *linearReader) page(query string) *feedPage {
	answer, err := r.try(&linearRequest{method: http.MethodGet, path: "/api/ext/v1/events" + query})
	if err != nil || answer.status == http.StatusServiceUnavailable {
		r.server++
		return nil
	}
	page := &feedPage{}
	if err := json.Unmarshal(answer.body, page); err != nil || answer.status != http.StatusOK {
		r.fault("the feed returns %s", answer)
		return nil
	}
	return page
}

// read reads to the end of the feed, and reports whether it came there.
func (r *linearReader) read() bool {
	call := r.now()
	for {
		page := r.page(fmt.Sprintf("?after=%s&limit=%d", r.cursor, 1+rand.IntN(300)))
		if page == nil {
			return false
		}
		r.cursor = page.Cursor
		for _, e := range page.Data {
			event := linear.Event{ID: e.ID, Type: e.Type, Contact: e.Data.seen(), MergedInto: e.MergedInto}
			_, name := e.Previous["name"]
			_, company := e.Previous["company"]
			if name || e.Type == "contact.created" {
				event.Set = append(event.Set, event.Contact.Name)
			}
			if company || e.Type == "contact.created" {
				event.Set = append(event.Set, event.Contact.Company)
			}
			r.events = append(r.events, event)
			r.seen.Events = append(r.seen.Events, e.ID)
		}
		if !page.HasMore {
			r.seen.Reads = append(r.seen.Reads, linear.ReadTo{Call: call, Events: len(r.events)})
			return true
		}
	}
}

func (r *linearReader) readAll() {
	for !r.read() {
		<-time.After(20 * time.Millisecond)
	}
}

func (r *linearReader) follow(stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(rand.N(50 * time.Millisecond)):
			r.read()
		}
	}
}
