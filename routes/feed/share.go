package feed

import (
	"context"
	"strconv"
	"strings"
	"time"

	"contactbase/internal/credential"
	"contactbase/internal/event"
	"contactbase/internal/sqlite"
	"contactbase/internal/sse"
	"contactbase/internal/wire"
)

// maxSharedPage is the size of a page, in bytes, up to which it is kept for later readers. Readers that follow the
// feed read small ones.
const maxSharedPage = 64 << 10

// pageKey is the position of a reader of the feed, and its filters. All readers with the same key share a page.
type pageKey struct {
	tenantID, after, kinds, contact, upTo string
	limit                                 int
	streams                               bool
}

// sharedPage is a page of the feed as its readers get it. They must not change it.
type sharedPage struct {
	*event.Page
	encoded []byte // the body of a response, or the events of a stream
	version int64  // of the credentials, from before the page was read
	err     error
}

// next reads the events after the cursor, and advances it. It repeats the checks of authorize, whose results
// may have changed.
func (r *reader) next() (*sharedPage, error) {
	if err := r.bound(); err != nil {
		return nil, err
	}
	page := r.pages.Get(r.app, r.key(), r.read)
	if err := r.confirm(page.version); err != nil {
		return nil, err
	}
	if page.err != nil {
		return nil, page.err
	}
	r.cursor = page.Next
	return page, nil
}

func (r *reader) key() pageKey {
	filter := r.query.Filter
	k := pageKey{
		tenantID: r.identity.TenantID, after: r.cursor, kinds: strings.Join(filter.Kinds, ","), contact: filter.Contact,
		limit: r.query.Limit, streams: r.streams,
	}
	if filter.UpTo != nil {
		k.upTo = event.IDPrefix + *filter.UpTo // not "", which is no limit
	}
	return k
}

// read reads and encodes the page for all readers with the same key.
func (r *reader) read() *sharedPage {
	p := &sharedPage{}
	var release func()
	// one reader that leaves must not end this
	if release, p.err = r.Readers.Acquire(context.Background(), r.identity.TenantID); p.err != nil {
		return p
	}
	defer release()
	p.err = r.onOwnStack(func() (err error) {
		if p.version, err = credential.Version(r.app); err != nil {
			return err
		}
		if p.Page, err = event.ReadPage(r.app, r.identity.TenantID, r.cursor, r.query.Filter, r.query.Limit); err != nil {
			return err
		}
		if r.streams {
			p.encoded = blocksOf(p.Events)
			return nil
		}
		p.encoded, err = feedOf(p.Page)
		return err
	})
	return p
}

// confirm repeats the checks of authorize. It queries only if the credentials have changed.
func (r *reader) confirm(version int64) error {
	check := func() error {
		present, err := r.identity.ConfirmAt(sqlite.Direct(r.app.ConcurrentDB()), version, time.Now())
		if err != nil {
			return err
		}
		r.identity = present
		return r.Permit(present)
	}
	if r.identity.IsOf(version) {
		return check()
	}
	return r.onOwnStack(check)
}

// feedOf returns the body of a response.
func feedOf(page *event.Page) ([]byte, error) {
	size := 128
	for _, sent := range page.Events {
		size += len(sent.Body) + 1
	}
	body := append(make([]byte, 0, size), `{"data":[`...)
	for i, sent := range page.Events {
		if i > 0 {
			body = append(body, ',')
		}
		body = append(body, sent.Body...)
	}
	body = strconv.AppendBool(append(body, `],"hasMore":`...), page.More)
	body, err := wire.AppendJSON(append(body, `,"cursor":`...), page.Next)
	return append(body, '}'), err
}

// blocksOf returns the blocks of a stream.
func blocksOf(events []event.Sent) (blocks []byte) {
	for _, sent := range events {
		blocks = sse.AppendEvent(blocks, sent.ID, sent.Kind, sent.Body)
	}
	return blocks
}
