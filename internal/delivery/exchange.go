package delivery

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"contactbase/internal/safehttp"
)

const (
	// maxKept is how much of a response body is stored, in bytes.
	maxKept = 16 << 10

	// maxRead is how much of a response body is read, in bytes, so that the connection can be reused. The connection
	// of a larger one is closed, which costs less than reading on. Its status decides about success either way.
	maxRead = 64 << 10

	// cancelTimeout is how long a cancelled exchange may take to return what it has read.
	cancelTimeout = 250 * time.Millisecond
)

var (
	// errSwitched is why a 101 fails: its body is the connection itself, which ignores the context.
	errSwitched = errors.New("the endpoint switched to another protocol (101) without being asked to")

	errNotPublic = errors.New(
		"blocked address: the URL does not lead to the public internet, and a member of the tenant has set it",
	)

	errUnresolved = errors.New(
		"blocked address: the host cannot be resolved here, only by the proxy, and a member of the tenant has set the URL",
	)

	errNoStatus = errors.New("the endpoint responded with an invalid status")
)

// answer is the response to a request.
type answer struct {
	status int // 0 if there was none
	header http.Header
	body   []byte // the first maxKept bytes
	err    error  // why it is not complete
}

// exchange sends the request and returns the response, as far as it has arrived when ctx ends. It relies neither on
// net/http nor on a transport to notice that end: it abandons a goroutine that still talks to the receiver then.
func (s *Sender) exchange(ctx context.Context, job *Job, request *http.Request) answer {
	answers := make(chan answer, 1)
	go func() {
		if transport := s.transport(request.URL.Scheme, job.Endpoint.MemberOwned); transport != nil {
			answers <- deliver(ctx, transport, job, request.Header)
			return
		}
		if job.Endpoint.MemberOwned {
			answers <- s.askForMember(ctx, request)
			return
		}
		answers <- ask(ctx, s.client, request)
	}()
	select {
	case a := <-answers:
		return a
	case <-ctx.Done():
	}
	timeout := time.NewTimer(cancelTimeout)
	defer timeout.Stop()
	select {
	case a := <-answers:
		return a
	case <-timeout.C:
		return answer{err: ctx.Err()}
	}
}

// askForMember is ask for a URL that a member of the tenant has set. Its error does not tell members the addresses of
// names in a private network.
func (s *Sender) askForMember(ctx context.Context, request *http.Request) answer {
	a := ask(ctx, s.members, request)
	switch {
	case errors.Is(a.err, safehttp.ErrUnresolved):
		a.err = errUnresolved
	case errors.Is(a.err, safehttp.ErrBlocked):
		a.err = errNotPublic
	}
	return a
}

// ask sends the request and reads the response. When ctx ends it closes the body and so the connection or the HTTP/2
// stream, which ends a Read that ignores the context. It calls the transport directly: a client would only add
// redirects, cookies and the user of a URL.
func ask(ctx context.Context, client *http.Client, request *http.Request) answer {
	if user := request.URL.User; user != nil && request.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	response, err := client.Transport.RoundTrip(request)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	a := answer{status: response.StatusCode, header: response.Header}
	switch {
	case a.status == http.StatusSwitchingProtocols:
		a.err = errSwitched
		return a
	case a.status < http.StatusContinue:
		return answer{err: errNoStatus}
	}
	stop := context.AfterFunc(ctx, func() { response.Body.Close() })
	defer stop()
	a.body, a.err = io.ReadAll(io.LimitReader(response.Body, maxKept))
	if a.err == nil && len(a.body) == maxKept {
		_, a.err = io.Copy(io.Discard, io.LimitReader(response.Body, maxRead-maxKept))
	}
	if a.err != nil && ctx.Err() != nil {
		a.err = ctx.Err() // not the error of reading a closed body
	}
	return a
}
