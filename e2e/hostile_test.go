package e2e

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hostile are receivers that violate the protocol, until a test makes them behave.
type hostile struct {
	urls []string
	well atomic.Bool
}

// hostilities are the violations, which start after a request has been read.
var hostilities = []func(*net.TCPConn){
	// sends nothing
	func(conn *net.TCPConn) { drain(conn) },
	// sends a byte at a time
	func(conn *net.TCPConn) {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
		for ; err == nil; <-tick.C {
			_, err = io.WriteString(conn, ".")
		}
	},
	// switches the protocol, and sends nothing
	func(conn *net.TCPConn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: silence\r\n\r\n")
		drain(conn)
	},
	// never ends the header
	func(conn *net.TCPConn) {
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
		for line := "X-Filler: " + strings.Repeat("a", 1000) + "\r\n"; err == nil; {
			_, err = io.WriteString(conn, line)
		}
	},
	// resets the connection
	func(conn *net.TCPConn) { _ = conn.SetLinger(0) },
}

// drain waits until the other side closes the connection.
func drain(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

func newHostile(t *testing.T) *hostile {
	t.Helper()
	h := &hostile{}
	for _, offend := range hostilities {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		h.urls = append(h.urls, "http://"+listener.Addr().String())
		var group sync.WaitGroup
		group.Go(func() { h.serve(listener, offend, &group) })
		t.Cleanup(func() {
			_ = listener.Close()
			group.Wait() // the server has ended, and with it the connections
		})
	}
	return h
}

// serve accepts connections until the listener is closed.
func (h *hostile) serve(listener net.Listener, offend func(*net.TCPConn), group *sync.WaitGroup) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		group.Go(func() {
			defer conn.Close()
			request, err := http.ReadRequest(bufio.NewReader(conn))
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, request.Body)
			if h.well.Load() {
				_, _ = io.WriteString(conn, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
				return
			}
			offend(conn.(*net.TCPConn))
		})
	}
}
