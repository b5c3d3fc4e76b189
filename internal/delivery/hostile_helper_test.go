package delivery_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"contactbase/internal/safehttp"
)

// hostile is a receiver that does with its connections what it likes. It knows how many there are, and
// what it got rid of.
type hostile struct {
	url         string
	certificate *x509.Certificate
	open        atomic.Int64 // connections that the sender holds
	accepted    atomic.Int64
	written     atomic.Int64 // bytes, as they are on the wire
}

// counted is a connection of which the written bytes are counted.
type counted struct {
	*net.TCPConn
	written *atomic.Int64
}

func (c counted) Write(b []byte) (int, error) {
	n, err := c.TCPConn.Write(b)
	c.written.Add(int64(n))
	return n, err
}

// The ways to reach a receiver.
const (
	overTCP = "http"
	overTLS = "https"
	overH2  = "https with HTTP/2"
	rawTLS  = "https without a handshake" // what the receiver does takes the place of the handshake
)

// serveHostile starts a receiver that lets behave have each connection. A connection counts as open until behave
// returns and the sender has closed its side.
func serveHostile(t *testing.T, over string, behave func(conn net.Conn)) *hostile {
	t.Helper()
	certificate := httptest.NewTLSServer(nil)
	certificate.Close()
	config := &tls.Config{Certificates: certificate.TLS.Certificates}
	if over == overH2 {
		config.NextProtos = []string{http2.NextProtoTLS}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	h := &hostile{certificate: certificate.Certificate()}
	h.url, _, _ = strings.Cut(over, " ")
	h.url += "://" + listener.Addr().String()
	go func() {
		for {
			accepted, err := listener.Accept()
			if err != nil {
				return
			}
			h.open.Add(1)
			h.accepted.Add(1)
			go func() {
				defer h.open.Add(-1)
				defer accepted.Close()
				raw := counted{accepted.(*net.TCPConn), &h.written}
				if over == overTCP || over == rawTLS {
					behave(raw)
				} else if secured := tls.Server(raw, config); secured.Handshake() == nil {
					behave(secured)
				}
			}()
		}
	}()
	return h
}

// client returns a client of the sender's kind that trusts the receiver, and gives up connecting after the time.
func (h *hostile) client(timeout time.Duration) *http.Client {
	known := x509.NewCertPool()
	known.AddCert(h.certificate)
	return safehttp.New(safehttp.Options{Allow: loopback, RootCAs: known, Timeout: timeout})
}

// hold waits until the sender closes the connection.
func hold(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// forever writes a text again and again until the sender closes the connection.
func forever(conn net.Conn, text string) {
	block := bytes.Repeat([]byte(text), max(1, 16<<10/len(text)))
	for {
		if _, err := conn.Write(block); err != nil {
			return
		}
	}
}

// drip writes a text byte by byte, until the sender closes the connection.
func drip(conn net.Conn, text string) {
	for tick := time.NewTicker(20 * time.Millisecond); ; <-tick.C {
		if _, err := io.WriteString(conn, text[:1]); err != nil {
			tick.Stop()
			return
		}
		text = text[1:] + text[:1]
	}
}

// after makes a behaviour out of one that begins when the request was read.
func after(answer func(conn net.Conn)) func(net.Conn) {
	return func(conn net.Conn) {
		request, err := http.ReadRequest(bufio.NewReader(conn))
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, request.Body)
		answer(conn)
	}
}

// says answers a text, then uses the connection.
func says(text string, then func(net.Conn)) func(net.Conn) {
	return after(func(conn net.Conn) {
		_, _ = io.WriteString(conn, text)
		then(conn)
	})
}

// closes ends what is written and waits for the sender to close.
func closes(conn net.Conn) {
	_ = conn.(interface{ CloseWrite() error }).CloseWrite()
	hold(conn)
}

// repeats sends a text forever.
func repeats(text string) func(net.Conn) { return func(conn net.Conn) { forever(conn, text) } }

// resets ends the connection with a reset.
func resets(conn net.Conn) {
	if secured, ok := conn.(*tls.Conn); ok {
		conn = secured.NetConn()
	}
	_ = conn.(counted).SetLinger(0)
}

// labelled runs do in goroutines that carry the label, as do all that it starts.
func labelled(t *testing.T, label string, do func()) {
	pprof.Do(t.Context(), pprof.Labels(label, t.Name()), func(context.Context) { do() })
}

// leftOver returns the goroutines that carry the label.
func leftOver(label string) string {
	var profile, found strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	for _, stack := range strings.Split(profile.String(), "\n\n") {
		if strings.Contains(stack, `"`+label+`":`) {
			found.WriteString(stack + "\n\n")
		}
	}
	return found.String()
}
