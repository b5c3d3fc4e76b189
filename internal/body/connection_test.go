package body

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"contactbase/internal/fault"
)

// serve answers with what it reads of bodies, and their error's code.
func serve(t *testing.T, limits Limits, after func(*http.Request)) *httptest.Server {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := Of(r).Bytes(r.Context(), 1<<20)
		if after != nil {
			after(r)
		}
		if err != nil {
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, codeOf(err))
			return
		}
		fmt.Fprint(w, len(raw))
	})
	server := httptest.NewUnstartedServer(NewLedger(limits).Handler(handler))
	server.EnableHTTP2 = true
	t.Cleanup(server.Close)
	return server
}

// send returns the answer to a request of which these bytes come, and whether the connection then closes.
func send(t *testing.T, connection net.Conn, text string) (answer string, closes bool) {
	t.Helper()
	if _, err := io.WriteString(connection, text); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.Close {
		_, err = reader.ReadByte() // not before it is closed
	}
	return string(raw), response.Close && errors.Is(err, io.EOF)
}

// A body that stalls ends with its connection, with HTTP/1.1 and with HTTP/2.
func TestStalledBodies(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits
	limits.Silence = 50 * time.Millisecond
	server := serve(t, limits, nil)
	server.Start()
	for name, text := range map[string]string{
		"nothing": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"some":    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123",
		"chunks":  "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n123\r\n",
	} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if answer, closes := send(t, connection, text); answer != string(fault.RequestTimeout) || !closes {
			t.Errorf("%s: the answer is %s, the connection closes: %t", name, answer, closes)
		}
	}
	secure := serve(t, limits, nil)
	secure.StartTLS()
	content, writer := io.Pipe()
	defer writer.Close()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, secure.URL, content)
	response, err := secure.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, _ := io.ReadAll(response.Body); string(answer) != string(fault.RequestTimeout) || response.ProtoMajor != 2 {
		t.Errorf("with HTTP/%d the answer is %s", response.ProtoMajor, answer)
	}
}

// slow is a connection from which a byte comes whenever its deadline has not passed.
type slow struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (s *slow) SetReadDeadline(at time.Time) error {
	s.deadline = at
	return nil
}

func (s *slow) Read(p []byte) (int, error) {
	if !time.Now().Before(s.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return copy(p, "a"), nil
}

func (s *slow) Close() error { return nil }

// A body that always comes, but slowly, ends too.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits
	limits.Grace, limits.Rate = time.Millisecond, 1<<50
	client := &slow{ResponseRecorder: httptest.NewRecorder()}
	b := newBody(NewLedger(limits), Tenant("a"), nil, -1)
	b.raw, b.control = client, http.NewResponseController(client)
	if _, err := b.Bytes(t.Context(), 1<<40); codeOf(err) != fault.RequestTimeout {
		t.Errorf("got %v", err)
	}
	b.end()
}

// How long the next byte of a body may take.
func TestPatience(t *testing.T) {
	t.Parallel()
	ledger := NewLedger(DefaultLimits)
	for _, tc := range []struct {
		waited  time.Duration
		arrived int64
		want    time.Duration
	}{
		{0, 0, 10 * time.Second},
		{25 * time.Second, 0, 5 * time.Second},
		{30 * time.Second, 7 * 30 << 10, 0},
		{30 * time.Second, 20 * 30 << 10, 10 * time.Second},
		{time.Hour, 8*3600<<10 + 8<<10, time.Second},
	} {
		if got := ledger.patience(tc.waited, tc.arrived); got != tc.want {
			t.Errorf("after %s and %d bytes it is %s, want %s", tc.waited, tc.arrived, got, tc.want)
		}
	}
}

// A body that has come in time leaves its request and connection as they are.
func TestConnectionsStay(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits
	limits.Silence = 500 * time.Millisecond // in which a busy machine sends a body
	work := func(r *http.Request) {         // longer than a body may stall
		select {
		case <-r.Context().Done():
			t.Errorf("the request ends: %v", context.Cause(r.Context()))
		case <-time.After(2 * limits.Silence):
		}
	}
	server := serve(t, limits, work)
	server.Start()
	secure := serve(t, limits, work)
	secure.StartTLS()
	for _, s := range []*httptest.Server{server, secure} {
		for range 2 {
			response, err := s.Client().Post(s.URL, "text/plain", strings.NewReader("contacts"))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(response.Body)
			response.Body.Close()
			if string(answer) != "8" || err != nil || response.Close {
				t.Errorf("HTTP/%d: got %s, %v", response.ProtoMajor, answer, err)
			}
		}
	}
}

// A response does not wait for a body that nobody reads.
func TestUnreadBodies(t *testing.T) {
	t.Parallel()
	refuse := NewLedger(DefaultLimits).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	server := httptest.NewServer(refuse)
	t.Cleanup(server.Close)
	for text, stays := range map[string]bool{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n1234567890":  true,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n":            false,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc": false,
	} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if _, closes := send(t, connection, text); closes == stays {
			t.Errorf("after %.60q the connection closes: %t", text, closes)
		}
	}
}

// A response that net/http sends while the handler runs does not wait for an unread body, either.
func TestLargeResponses(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits
	limits.Silence = 50 * time.Millisecond
	large := NewLedger(limits).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("a", 1<<20))
	}))
	server := httptest.NewServer(large)
	t.Cleanup(server.Close)
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	answer, closes := send(t, connection, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n")
	if len(answer) != 1<<20 || !closes {
		t.Errorf("got %d bytes, the connection closes: %t", len(answer), closes)
	}
}
