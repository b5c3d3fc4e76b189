// Package body reads the bodies of all requests. It counts the bytes that have arrived, per sender and in all, until
// the request ends, and ends a request whose body stalls.
package body

import (
	"errors"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/fault"
)

const (
	// unreadWait is how long a small body that no handler has read may still take to arrive. The response waits for it,
	// because clients that are still sending do not read it.
	unreadWait = time.Second
	// maxUnread is the largest such body, in bytes. net/http has the same limit.
	maxUnread = 256 << 10
)

// Body is the body of a request. It counts the bytes that arrive, and notices when they stop.
type Body struct {
	ledger  *Ledger // nil for a request that came from inside the program, which is exempt
	raw     io.ReadCloser
	request *http.Request // with the limits of the server
	writer  http.ResponseWriter
	control *http.ResponseController

	owner   Owner
	keeps   medium
	folder  string // of the file
	exempt  bool   // whether it is neither counted nor timed
	most    int64  // bytes, 0 for any number
	waited  time.Duration
	arrived int64 // bytes
	counted held
	err     error    // of all further reads
	ends    []func() // called when the request has ended

	parts  [][]byte // what has arrived, of a body that is kept in memory
	size   int      // of the parts
	joined []byte   // all of it; not nil once it has arrived
	read   int      // bytes of joined that Read has returned
}

// medium is where the bytes of a body are kept.
type medium int

const (
	inMemory medium = iota
	inFile
	nowhere // discarded, or not ours to count
)

// Handler returns a handler that gives next its own copy of each request, whose body is a *Body. With a copy, net/http
// still sees its own body, and notices what was not read: otherwise, the rest would be the connection's next request.
func (l *Ledger) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		own := *r
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, &own)
			return
		}
		b := &Body{
			ledger: l, raw: r.Body, request: r, owner: addressOf(r.RemoteAddr),
			writer: w, control: http.NewResponseController(w),
		}
		own.Body = b
		if r.ProtoMajor == 1 { // net/http waits for a body that nobody has read before it sends a response
			b.setReadDeadline(time.Now().Add(l.limits.Silence))
		}
		defer func() {
			b.end()
			if own.MultipartForm != nil {
				_ = own.MultipartForm.RemoveAll() // net/http does so for its own request only
			}
		}()
		next.ServeHTTP(w, &own)
	})
}

// Of returns the body of a request, which PocketBase may have wrapped in its own reader.
func Of(r *http.Request) *Body {
	raw := r.Body
	if wrapped, ok := raw.(*router.RereadableReadCloser); ok {
		raw = wrapped.ReadCloser
	}
	if b, ok := raw.(*Body); ok {
		return b
	}
	b := &Body{raw: r.Body, request: r, keeps: nowhere, exempt: true}
	r.Body = b
	return b
}

// CountFor makes the body of a request, if any, count for an owner. It is called before the first byte is read.
func CountFor(r *http.Request, owner Owner) {
	if r.ContentLength != 0 {
		Of(r).owner = owner
	}
}

// Uncounted makes the bytes count for nobody.
func (b *Body) Uncounted() { b.keeps = nowhere }

// Exempt makes the body an ordinary one of net/http, with the timeout of the server.
func (b *Body) Exempt() {
	b.keeps, b.exempt = nowhere, true
	if b.request.ProtoMajor > 1 {
		return
	}
	until := time.Time{}
	if server := b.server(); server != nil && server.ReadTimeout > 0 {
		until = time.Now().Add(server.ReadTimeout)
	}
	b.setReadDeadline(until)
}

// server returns the server that received the request, nil in tests without one.
func (b *Body) server() *http.Server {
	server, _ := b.request.Context().Value(http.ServerContextKey).(*http.Server)
	return server
}

// Err returns the fault that ended the body, nil if none did.
func (b *Body) Err() error {
	if f := (*fault.Error)(nil); errors.As(b.err, &f) {
		return f
	}
	return nil
}

// Close implements io.Closer. net/http closes its own body when the request has ended.
func (b *Body) Close() error { return nil }

// Reread implements router.Rereader, for a body that is in memory.
func (b *Body) Reread() { b.read = 0 }

// Read implements io.Reader. A body that is in memory is read from there; its end is followed by its beginning, as
// PocketBase has it. The error is a *fault.Error if the body stalls, or takes more memory or disk than its owner may
// use.
func (b *Body) Read(p []byte) (n int, err error) {
	switch {
	case b.joined != nil && b.read == len(b.joined):
		b.read = 0
		return 0, io.EOF
	case b.joined != nil:
		n = copy(p, b.joined[b.read:])
		b.read += n
		return n, nil
	case b.err != nil:
		return 0, b.err
	case b.exempt:
		n, b.err = b.raw.Read(p)
	default:
		n, b.err = b.receive(p)
	}
	if b.arrived += int64(n); b.most > 0 && b.arrived > b.most {
		b.err = errTooLarge
	}
	return n, b.err
}

// receive reads what arrives next, and counts it.
func (b *Body) receive(p []byte) (n int, err error) {
	if err := b.ledger.checkSpace(b); err != nil {
		return 0, b.giveUp(err)
	}
	began := time.Now()
	b.setReadDeadline(began.Add(b.ledger.patience(b.waited, b.arrived)))
	n, err = b.raw.Read(p)
	b.waited += time.Since(began)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return 0, b.giveUp(errStalled)
	}
	if b.request.ProtoMajor > 1 {
		b.setReadDeadline(time.Time{}) // it would end the body even while nothing reads it
	}
	if refused := b.ledger.count(b, int64(n)); refused != nil {
		return 0, b.giveUp(refused)
	}
	if errors.Is(err, io.EOF) && b.waited > b.ledger.limits.Silence {
		b.renewWriteDeadline()
	}
	return n, err
}

// giveUp frees what has arrived. The connection closes after the response.
func (b *Body) giveUp(because error) error {
	b.drop()
	b.err = because
	b.setReadDeadline(time.Unix(1, 0)) // net/http waits for the rest no more
	b.closeConnection()
	return because
}

// closeConnection makes net/http close the connection after the response, once the client had a moment to read it: that
// is what http.MaxBytesReader does with the connection of a body that is too large, and only it can.
func (b *Body) closeConnection() {
	b.writer.Header().Set("Connection", "close")
	_, _ = http.MaxBytesReader(b.writer, io.NopCloser(strings.NewReader("x")), 0).Read(make([]byte, 1))
}

// setReadDeadline does nothing if the connection has no deadlines, as in tests without one.
func (b *Body) setReadDeadline(at time.Time) {
	_ = b.control.SetReadDeadline(at)
}

// renewWriteDeadline gives the response the time that it would have without a slow body before it.
func (b *Body) renewWriteDeadline() {
	if server := b.server(); server != nil && server.WriteTimeout > 0 {
		_ = b.control.SetWriteDeadline(time.Now().Add(server.WriteTimeout))
	}
}

// end frees what the body holds.
func (b *Body) end() {
	b.drop()
	b.joined = nil
	b.ledger.free(b)
	for _, end := range b.ends {
		end()
	}
	b.ends = nil
	if b.err == nil && !b.exempt && b.request.ProtoMajor == 1 {
		b.discardUnread()
	}
}

// discardUnread receives what no handler has read, if it is small and comes at once. Otherwise, net/http would wait for
// it before it sends the response. A client that expects 100 Continue sends nothing yet.
func (b *Body) discardUnread() {
	if b.request.Header.Get("Expect") != "" && b.arrived == 0 {
		return
	}
	if b.request.ContentLength-b.arrived <= maxUnread {
		b.setReadDeadline(time.Now().Add(unreadWait))
		if _, err := io.CopyN(io.Discard, b.raw, maxUnread+1); errors.Is(err, io.EOF) {
			return
		}
	}
	_ = b.giveUp(errStalled)
}

var errStalled = fault.New(fault.RequestTimeout, "The request body came too slowly. Send it again, without pauses.")

// rateLimited returns the error of an owner that may send the same body later.
func rateLimited(message string, retryAfter time.Duration) *fault.Error {
	return &fault.Error{
		Code: fault.RateLimited, RetryAfter: retryAfter,
		Message: message + " Try again in " + strconv.Itoa(int(retryAfter.Seconds())) + " s.",
	}
}
