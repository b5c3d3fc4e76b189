package delivery_test

import (
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"contactbase/internal/delivery"
	"contactbase/internal/safehttp"
	"contactbase/internal/testkit"
)

// hostileCase is a way to treat a sender badly, and what the attempt has to come to.
type hostileCase struct {
	what    string
	behave  func(conn net.Conn)
	status  int
	failure delivery.Failure
	fault   string // a part of the attempt's error
}

const (
	none    = delivery.FailureNone
	timeout = delivery.FailureTimeout
	network = delivery.FailureNetwork
)

const (
	ok       = "HTTP/1.1 200 OK\r\n"
	length   = ok + "Content-Length: "
	chunks   = ok + "Transfer-Encoding: chunked\r\n\r\n"
	switched = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
	k31      = 31 << 10
)

// hostileHTTP1 are receivers that answer HTTP/1.1, each over a bare connection and over TLS.
var hostileHTTP1 = []hostileCase{
	// informational answers
	{"101 and silence", says(switched, hold), 101, network, "switched to another protocol"},
	{"101 and chatter", says(switched, repeats("chatter")), 101, network, "switched to another protocol"},
	{"101 without a protocol", says("HTTP/1.1 101 Switching Protocols\r\n\r\n", hold), 101, network, "switched to another protocol"},
	{"100 for ever", after(repeats("HTTP/1.1 100 Continue\r\n\r\n")), 0, network, "headers exceeded"},
	{"102 for ever", after(repeats("HTTP/1.1 102 Processing\r\n\r\n")), 0, network, "headers exceeded"},
	{"103 for ever", after(repeats("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")), 0, network, "headers exceeded"},
	{"103 and silence", says("HTTP/1.1 103 Early Hints\r\n\r\n", hold), 0, timeout, "no complete response"},

	// headers
	{"a header line without end", says(ok+"X: ", repeats("x")), 0, network, "exceeded"},
	{"header lines without end", says(ok, repeats("X-Header: value\r\n")), 0, network, "exceeded"},
	{"a folded header without end", says(ok+"X: 1\r\n", repeats(" folded\r\n")), 0, network, "exceeded"},
	{"one huge header", says(length+"0\r\nX: "+strings.Repeat("x", k31)+"\r\n\r\n", hold), 200, none, ""},
	{"a header with a huge name", says(length+"0\r\n"+strings.Repeat("x", k31)+": 1\r\n\r\n", hold), 200, none, ""},
	{"thousands of headers", says(length+"0\r\n"+manyHeaders(2000)+"\r\n", hold), 200, none, ""},
	{"a header that drips", says(ok, func(conn net.Conn) { drip(conn, "X-Header: value\r\n") }), 0, timeout, "no complete response"},
	{"a header that is none", says(ok+"no header\r\n\r\n", hold), 0, network, "malformed"},

	// bodies
	{"a body that drips", says(length+"1000000\r\n\r\n", func(conn net.Conn) { drip(conn, "x") }), 200, timeout, "no complete response"},
	{"a body that does not come", says(length+"5\r\n\r\n", hold), 200, timeout, "no complete response"},
	{"a body without end", says(ok+"\r\n", repeats("x")), 200, none, ""},
	{"chunks without end", says(chunks, repeats("10\r\n0123456789abcdef\r\n")), 200, none, ""},
	{"a chunk that does not come", says(chunks+"7fffffffffffffff\r\n", hold), 200, timeout, "no complete response"},
	{"a chunk without a size", says(chunks+"size\r\n\r\n", hold), 200, network, "chunk"},
	{"a chunk size that is too large", says(chunks+"fffffffffffffffff\r\n", hold), 200, network, "chunk"},
	{"a chunk extension without end", says(chunks+"1;", repeats("x")), 200, network, "too long"},
	{"chunks that are mostly extension", says(chunks, repeats("1;"+strings.Repeat("x", 1000)+"\r\nx\r\n")), 200, network, "chunk"},
	{"trailers without end", says(chunks+"0\r\n", repeats("X-Trailer: value\r\n")), 200, network, "trailer"},
	{"a compressed bomb", says(ok+"Content-Encoding: gzip\r\n\r\n", repeats(bomb())), 200, none, ""},
	{"zeros without end", says(ok+"\r\n", repeats(strings.Repeat("\x00", 1024))), 200, none, ""},
	{"less than was promised", says(length+"100\r\n\r\nhalf", closes), 200, network, "closed before the response was complete"},
	{"more than was promised", says(length+"2\r\n\r\nok", repeats("and more")), 200, none, ""},
	{"a negative length", says(length+"-1\r\n\r\n", hold), 0, network, "Content-Length"},
	{"two lengths", says(length+"1\r\nContent-Length: 2\r\n\r\nxx", hold), 0, network, "Content-Length"},
	{"an encoding that nobody knows", says(ok+"Transfer-Encoding: rot13\r\n\r\n", hold), 0, network, "transfer encoding"},
	{"204 with a body", says("HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody", hold), 204, none, ""},

	// what is not HTTP, or hardly
	{"HTTP/0.9", says("hello", closes), 0, network, "malformed"},
	{"garbage", after(repeats("\x00\xff\r\n")), 0, network, "malformed"},
	{"a line without end", after(repeats("x")), 0, network, "exceeded"},
	{"a status of letters", says("HTTP/1.1 two hundred\r\n\r\n", hold), 0, network, "malformed"},
	{"status 000", says("HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n", hold), 0, network, "an invalid status"},
	{"status 999", says("HTTP/1.1 999 Everything\r\nContent-Length: 0\r\n\r\n", hold), 999, none, ""},
	{"a redirect to itself", says("HTTP/1.1 307 Again\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", hold), 307, none, ""},

	// connections
	{"closed at once", func(net.Conn) {}, 0, network, "connection"},
	{"closed after the request", after(func(net.Conn) {}), 0, network, "connection closed"},
	{"reset", after(resets), 0, network, "connection"},
	{"half closed", after(closes), 0, network, "connection closed"},
	{"never answered", after(hold), 0, timeout, "no complete response"},
}

// hostileTLS are receivers that do not get as far as HTTP.
var hostileTLS = []hostileCase{
	{"no handshake", hold, 0, timeout, "no complete response"},
	{"a handshake that drips", func(conn net.Conn) { drip(conn, "\x16\x03\x03\x40\x00") }, 0, timeout, "no complete response"},
	{"a handshake without end", repeats("\x16\x03\x03\x00\x04\x02\x00\x00\x00"), 0, network, ""},
	{"an alert", func(conn net.Conn) { fmt.Fprint(conn, "\x15\x03\x03\x00\x02\x02\x28"); hold(conn) }, 0, network, "refused the handshake"},
	{"no TLS", func(conn net.Conn) { fmt.Fprint(conn, "HTTP/1.1 400 Bad Request\r\n\r\n"); hold(conn) }, 0, network, "does not speak TLS"},
	{"closed", func(net.Conn) {}, 0, network, "connection"},
}

func manyHeaders(n int) string {
	var headers strings.Builder
	for i := range n {
		fmt.Fprintf(&headers, "X-%04d: value\r\n", i)
	}
	return headers.String()
}

// Nothing that a receiver does may keep an attempt from ending, cost more than it has to, or leave anything behind.
func TestSenderOutlivesHostileReceivers(t *testing.T) {
	t.Parallel()
	log.SetOutput(safehttp.Quiet(os.Stderr))
	const label = "hostile"
	t.Run("over", func(t *testing.T) {
		for _, group := range []struct {
			over  string
			cases []hostileCase
			keeps bool // the sender may keep the connection for another request
		}{
			{overTCP, hostileHTTP1, true}, {overTLS, hostileHTTP1, true}, {overH2, hostileHTTP2, true},
			{overH2, hostileDeaf, false}, {rawTLS, hostileTLS, false},
		} {
			for _, c := range group.cases {
				t.Run(group.over+"/"+c.what, func(t *testing.T) {
					t.Parallel()
					receiver := serveHostile(t, group.over, c.behave)
					labelled(t, label, func() { outlive(t, c, receiver, group.keeps) })
				})
			}
		}
	})
	testkit.Eventually(t, "no goroutine is left over", func() bool { return leftOver(label) == "" })
}

// outlive makes an attempt at the receiver and looks at what it came to and what it leaves.
func outlive(t *testing.T, c hostileCase, receiver *hostile, keeps bool) {
	const most = 30 * time.Second // which only a broken sender needs
	limit := most
	if c.failure == timeout {
		limit = 500 * time.Millisecond
	}
	var client *http.Client
	send := func() *delivery.Attempt {
		client = receiver.client(2 * limit)
		sender := delivery.NewSender(client, "1.2.3")
		sender.SetTimeout(limit)
		return sender.Send(t.Context(), job(receiver.url))
	}
	attempt := send()
	// a busy machine had not read the headers by then
	for ; attempt.Status != c.status && c.failure == timeout && limit < most; attempt = send() {
		limit *= 2
	}
	if attempt.Status != c.status || attempt.Outcome.Status != c.status || attempt.Outcome.Failure != c.failure ||
		!strings.Contains(attempt.Error, c.fault) || (attempt.Error == "") != (c.failure == none) {
		t.Errorf("got %d, %+v, %q; want %d, failure %d, %q", attempt.Status, attempt.Outcome, attempt.Error, c.status, c.failure, c.fault)
	}
	if len(attempt.RequestHeaders) > 4<<10 || len(attempt.ResponseHeaders) > 4<<10 || len(attempt.ResponseBody) > 16<<10 || len(attempt.Error) > 4000 {
		t.Errorf("it keeps %d and %d bytes of headers, %d of the body, %d of the error",
			len(attempt.RequestHeaders), len(attempt.ResponseHeaders), len(attempt.ResponseBody), len(attempt.Error))
	}
	testkit.Eventually(t, "no connection is left over", func() bool {
		if keeps {
			client.CloseIdleConnections()
		}
		return receiver.open.Load() == 0
	})
	// what lies in the buffers of both ends besides
	if written := receiver.written.Load(); written > 16<<20 {
		t.Errorf("%d bytes were taken from it", written)
	}
}

func TestSenderLeavesAReceiverThatDoesNotRead(t *testing.T) {
	t.Parallel()
	begins := func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 1)) // an answer before the request is another matter
		drip(conn, "HTTP/1.1 200 OK and so on and so on and so on and so on")
	}
	for over, behave := range map[string]func(net.Conn){overTCP: begins, overTLS: begins, overH2: invites} {
		t.Run(over, func(t *testing.T) {
			t.Parallel()
			receiver := serveHostile(t, over, behave)
			sender := delivery.NewSender(receiver.client(time.Second), "1.2.3")
			sender.SetTimeout(500 * time.Millisecond)
			large := job(receiver.url)
			large.Payload = make([]byte, 16<<20) // more than the buffers of both ends hold
			if attempt := sender.Send(t.Context(), large); attempt.Outcome.Failure != timeout {
				t.Errorf("got %+v, %q", attempt.Outcome, attempt.Error)
			}
			testkit.Eventually(t, "no connection is left over", func() bool { return receiver.open.Load() == 0 })
		})
	}
}
