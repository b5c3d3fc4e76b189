package systemd

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"testing"
	"time"
)

// A kept-alive connection is closed after the next response, and one that is no longer accepted waits for the next
// server of the socket.
func TestHandOver(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			s := listen(t)
			server := httptest.NewUnstartedServer(s.closeAfterResponse(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, r.Proto)
			})))
			_ = server.Listener.Close()
			server.Listener, server.EnableHTTP2 = s, protocol == "HTTP/2.0"
			server.StartTLS()
			defer server.Close()
			if said, reused := get(t, server); said != protocol || reused {
				t.Fatalf("the first answer is %q, on a connection that was open: %v", said, reused)
			}
			over := make(chan struct{})
			go func() {
				s.handOver(time.Hour)
				close(over)
			}()
			<-s.ending
			if said, reused := get(t, server); said != protocol || !reused {
				t.Errorf("the last answer is %q, on the connection that was open: %v", said, reused)
			}
			<-over
			waiting, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer waiting.Close()
			next, err := net.FileListener(s.file)
			if err != nil {
				t.Fatal(err)
			}
			defer next.Close()
			taken, err := next.Accept()
			if err != nil {
				t.Fatal(err)
			}
			defer taken.Close()
			if taken.RemoteAddr().String() != waiting.LocalAddr().String() {
				t.Errorf("the next server takes %s, not %s", taken.RemoteAddr(), waiting.LocalAddr())
			}
		})
	}
}

// listen returns a socket as systemd passes it.
func listen(t *testing.T) *socket {
	t.Helper()
	listener, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	file, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return newSocket(listener, file)
}

// get returns the response, and whether it reused a connection.
func get(t *testing.T, server *httptest.Server) (said string, reused bool) {
	t.Helper()
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), reused
}
