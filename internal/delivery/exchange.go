package delivery

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// maxKept is how much of an answer's body is stored, in bytes.
	maxKept = 16 << 10

	// maxRead is how much of an answer's body is read, in bytes. What lies between maxKept and it is thrown away, so
	// that the connection can be used again. A larger answer loses its connection, which costs less than reading on;
	// whether it is a success is up to its status either way.
	maxRead = 64 << 10

	// lastWord is how long an exchange that was called off may take to hand in what it has got so far.
	lastWord = 250 * time.Millisecond
)

var (
	// errSwitched is why a 101 fails: its body is the connection itself, which knows no context.
	errSwitched = errors.New("the endpoint switched to another protocol (101), which nobody asked for")

	errNoStatus = errors.New("the endpoint answered a status that is none")
)

// answer is what came back of a request.
type answer struct {
	status int // 0 where there was none
	header http.Header
	body   []byte // the first maxKept bytes
	err    error  // why it is not complete
}

// exchange sends the request and returns the answer, as much of it as there is when ctx ends. It trusts neither net/http
// nor a transport to notice that end: what still talks to the receiver then is left to itself, and reports to nobody.
func (s *Sender) exchange(ctx context.Context, job *Job, request *http.Request) answer {
	answers := make(chan answer, 1)
	go func() {
		if transport, found := s.transports[request.URL.Scheme]; found {
			answers <- deliver(ctx, transport, job, request.Header)
			return
		}
		answers <- s.ask(ctx, request)
	}()
	select {
	case a := <-answers:
		return a
	case <-ctx.Done():
	}
	patience := time.NewTimer(lastWord)
	defer patience.Stop()
	select {
	case a := <-answers:
		return a
	case <-patience.C:
		return answer{err: ctx.Err()}
	}
}

// ask sends the request and reads the answer. When ctx ends the body is closed: with it ends the connection, or the
// stream of HTTP/2, and whatever waits for them, be it in a Read that knows no context. It asks the transport itself: what a client
// does besides is to follow redirects and to keep cookies, for which it copies the headers, and to name the user of a URL.
func (s *Sender) ask(ctx context.Context, request *http.Request) answer {
	if user := request.URL.User; user != nil && request.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		request.SetBasicAuth(user.Username(), password)
	}
	response, err := s.client.Transport.RoundTrip(request)
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
		a.err = ctx.Err() // what a Read says of a body that was closed under it is of no interest
	}
	return a
}
