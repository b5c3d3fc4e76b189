// Package feed answers with the events of a tenant: as a page, or as a stream of Server-Sent Events.
package feed

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/event"
	"contactbase/internal/order"
	"contactbase/internal/requests"
	"contactbase/internal/sqlite"
	"contactbase/internal/sse"
	"contactbase/routes/envelope"
	"contactbase/routes/limit"
)

// Config holds the dependencies of a feed.
type Config struct {
	Readers *limit.Readers // shares the reading connections between tenants
	Watcher *event.Watcher // notifies readers of new events; runs while the program serves
	// returns the id of the newest event that clients may see, nil for all
	Newest func(ctx context.Context) (*string, error)
	Permit func(reader *credential.Identity) error // repeats the checks of what the reader may do

	// Background runs a stream that outlives its handler; the server waits for it before it stops.
	Background func(stream func())
}

// Feed has what all its readers share.
type Feed struct {
	Config
	pages   sqlite.Shared[pageKey, *sharedPage]
	reading chan struct{} // has a value for each stream that is reading the database
}

// New returns a feed, and runs its watcher while the app serves.
func New(app core.App, config Config) *Feed {
	bindWatcher(app, config.Watcher)
	return &Feed{
		Config: config, reading: make(chan struct{}, streamReads),
		pages: sqlite.Shared[pageKey, *sharedPage]{Large: func(p *sharedPage) bool { return len(p.encoded) > maxSharedPage }},
	}
}

// Answer answers a request with the next events after its cursor.
func (f *Feed) Answer(e *core.RequestEvent, caller *credential.Identity) error {
	values, err := url.ParseQuery(e.Request.URL.RawQuery)
	if err != nil {
		return envelope.InvalidParameter("query", "is not a valid query string")
	}
	query, err := event.ParseQuery(e.App, values)
	if err != nil {
		return err
	}
	r := &reader{Feed: f, app: e.App, e: e, identity: caller, query: query}
	if sse.IsPreferred(e.Request.Header) {
		requests.Waits(e)
		return r.stream()
	}
	page, err := r.page()
	if err != nil {
		return err
	}
	return e.Blob(http.StatusOK, "application/json", page.encoded)
}

// reader is a request for the feed. It may last long.
type reader struct {
	*Feed
	app        core.App
	e          *core.RequestEvent // nil once it is no longer needed
	identity   *credential.Identity
	query      event.Query
	streams    bool
	cursor     string // the cursor after the last event read
	sentCursor string // the cursor that the stream's client has
}

// begin finds the cursor at which the reader starts.
func (r *reader) begin() (err error) {
	if r.query.After != nil {
		r.cursor = *r.query.After
		return nil
	}
	if err := r.bound(); err != nil {
		return err
	}
	r.cursor, err = event.End(r.app, r.identity.TenantID, r.query.Filter.UpTo)
	return err
}

// bound ends the feed where the replica ends, so that clients see no event that may be lost with the machine.
func (r *reader) bound() (err error) {
	ctx := context.Background()
	if r.e != nil {
		ctx = r.e.Request.Context()
	}
	r.query.Filter.UpTo, err = r.Newest(ctx)
	return err
}

// keyEnds is ready when the key expires.
func (r *reader) keyEnds() <-chan time.Time {
	if expires := r.identity.Expires(); !expires.IsZero() {
		return time.After(time.Until(expires))
	}
	return nil
}

// page waits for events, at most as long as the client asked, and returns a page.
func (r *reader) page() (*sharedPage, error) {
	if err := r.begin(); err != nil {
		return nil, err
	}
	if r.query.Wait == 0 || r.e.Request.Method == http.MethodHead {
		return r.next()
	}
	events, err := r.Watcher.Subscribe(r.identity.TenantID)
	if err != nil {
		return nil, err
	}
	defer events.Close()
	requests.Waits(r.e)
	timeout := time.NewTimer(r.query.Wait)
	defer timeout.Stop()
	for {
		page, err := r.next()
		if err != nil || len(page.Events) > 0 || page.More { // skipped events cost the client a request, too
			return page, err
		}
		select {
		case <-events.C:
		case <-r.keyEnds():
		case <-timeout.C:
			return page, nil
		case <-r.Watcher.Ended():
			return page, nil
		case <-r.e.Request.Context().Done():
			return nil, r.e.Request.Context().Err()
		}
	}
}

// bindWatcher runs the watcher while the program serves. When it stops, waiting readers end before running
// requests are waited for.
func bindWatcher(app core.App, watcher *event.Watcher) {
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		var known int64
		go watcher.Run(func() (changed bool) {
			version, err := credential.Version(app)
			changed = err != nil || version != known
			known = version
			return changed
		})
		return nil
	})
	order.OnStop(app, "contactbaseWatcher", order.WaitsEnd, watcher.End)
}
