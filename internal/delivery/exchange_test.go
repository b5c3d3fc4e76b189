package delivery_test

import (
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"contactbase/internal/delivery"
)

// roundTrip is a transport in a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// deafBody is a body whose Read knows no context, like that of a connection that was switched to another protocol.
type deafBody struct {
	closed chan struct{}
	close  func()
}

func newDeafBody() *deafBody {
	closed := make(chan struct{})
	return &deafBody{closed, sync.OnceFunc(func() { close(closed) })}
}

func (b *deafBody) Read([]byte) (int, error) {
	<-b.closed
	return 0, io.ErrClosedPipe
}

func (b *deafBody) Close() error {
	b.close()
	return nil
}

// The end of an attempt must not hang on net/http.
func TestSenderDoesNotTrustTheTransport(t *testing.T) {
	t.Parallel()
	never := make(chan struct{})
	defer close(never)
	stuck := roundTrip(func(*http.Request) (*http.Response, error) {
		<-never
		return nil, io.EOF
	})
	var body *deafBody
	deaf := roundTrip(func(r *http.Request) (*http.Response, error) {
		body = newDeafBody()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Server": {"deaf"}}, Body: body, Request: r}, nil
	})
	for _, c := range []struct {
		what      string
		transport http.RoundTripper
		status    int
		headers   string
	}{
		{"that does not return", stuck, 0, "{}"},
		{"whose body knows no context", deaf, 200, `{"Server":"deaf"}`},
	} {
		sender := delivery.NewSender(&http.Client{Transport: c.transport}, "1.2.3")
		limit, ended := 50*time.Millisecond, make(chan *delivery.Attempt, 1)
		send := func() *delivery.Attempt {
			sender.SetTimeout(limit)
			go func() { ended <- sender.Send(t.Context(), job("https://hooks.example.com/")) }()
			return receive(t, ended)
		}
		attempt := send()
		// a busy machine had not read the headers by then
		for ; attempt.Status != c.status && limit < 10*time.Second; attempt = send() {
			limit *= 2
		}
		if attempt.Outcome.Failure != delivery.FailureTimeout || attempt.Status != c.status || attempt.ResponseHeaders != c.headers ||
			!strings.Contains(attempt.Error, "no complete response within "+limit.String()) {
			t.Errorf("a transport %s: got %d %s, %q", c.what, attempt.Status, attempt.ResponseHeaders, attempt.Error)
		}
	}
	receive(t, body.closed) // so that whoever reads it ends
}
