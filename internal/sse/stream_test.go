package sse_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"contactbase/internal/sse"
)

// newServer sends one event on each hijacked connection, and ends the stream.
func newServer(t *testing.T) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", sse.MediaType)
		w.WriteHeader(http.StatusOK)
		out := sse.NewStream(w, r)
		if !out.IsHijacked() || !out.Send([]byte(sse.Heartbeat)) || !out.Send(sse.AppendEvent(nil, "1", "kind", []byte("a\nb"))) {
			t.Error("the stream cannot be sent")
		}
		out.Close()
	}))
	t.Cleanup(server.Close)
	return server
}

const stream = ":\n\nid: 1\nevent: kind\ndata: a\ndata: b\n\n"

// A hijacked connection carries the same bytes as a response of net/http.
func TestStream(t *testing.T) {
	t.Parallel()
	server := newServer(t)
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, err := io.ReadAll(response.Body); err != nil || string(body) != stream {
		t.Errorf("the stream is %q, %v", body, err)
	}
	for version, want := range map[string]string{
		"1.0": "\r\n\r\n" + stream,
		"1.1": "\r\n\r\n3\r\n:\n\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(stream)-3, stream[3:]),
	} {
		conn, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		fmt.Fprintf(conn, "GET / HTTP/%s\r\nHost: x\r\n\r\n", version)
		if got, err := io.ReadAll(conn); err != nil || !strings.HasSuffix(string(got), want) {
			t.Errorf("HTTP/%s: the answer is %q, %v", version, got, err)
		}
	}
}

// Send notices that the client has disconnected.
func TestSendToDisconnectedClient(t *testing.T) {
	t.Parallel()
	noticed := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		out := sse.NewStream(w, r)
		go func() {
			defer close(noticed)
			defer out.Close()
			for out.Send([]byte(sse.Heartbeat)) {
			}
		}()
	}))
	t.Cleanup(server.Close)
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	conn.Close()
	<-noticed
}

// Hurry ends a write to a client that does not read. The client can tell that the stream is incomplete.
func TestHurry(t *testing.T) {
	t.Parallel()
	streams := make(chan *sse.Stream, 1)
	sent := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusOK)
		out := sse.NewStream(w, r)
		streams <- out
		go func() {
			defer out.Close()
			sent <- out.Send(make([]byte, 16<<20)) // more than the kernel buffers
		}()
	}))
	t.Cleanup(server.Close)
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := response.Body.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	(<-streams).Hurry()
	if <-sent {
		t.Error("everything is sent to a client that does not read")
	}
	if _, err := io.Copy(io.Discard, response.Body); err == nil {
		t.Error("the stream ends as if it were complete")
	}
}
