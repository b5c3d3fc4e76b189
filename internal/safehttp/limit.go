package safehttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// ErrTooMuch is in the chain of the error of a request whose connection carried more than its answers can need.
var ErrTooMuch = errors.New("the other side sends without end")

const (
	// exchangeBytes is how much a connection may carry towards us for each request, and for being opened. Answering a
	// flood of small frames costs far more than reading as many bytes of a body.
	exchangeBytes = 512 << 10

	// savedBytes is the most that it may carry of what earlier requests left over. Those that share a connection of
	// HTTP/2 share it.
	savedBytes = 64 << 20
)

// budgeted makes every request bring its connection another exchangeBytes.
//
// net/http bounds a header and the reader of a body bounds that, but some of what a server may send has no bound there:
// settings, pings and other frames of HTTP/2 are read, and some of them answered, for as long as they come, even after
// the request that opened the connection has ended.
type budgeted struct {
	*http.Transport
}

// RoundTrip implements http.RoundTripper.
func (t budgeted) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { grant(info.Conn) },
	})
	return t.Transport.RoundTrip(request.WithContext(ctx))
}

// conn is a connection that ends when it has carried more than it was granted.
type conn struct {
	net.Conn
	left atomic.Int64
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) {
	if c.left.Load() <= 0 {
		return 0, ErrTooMuch
	}
	n, err := c.Conn.Read(b)
	c.left.Add(-int64(n))
	return n, err
}

// grant finds the conn below TLS and lets it carry another exchange.
func grant(connection net.Conn) {
	for {
		switch c := connection.(type) {
		case *conn:
			c.left.Store(min(c.left.Load()+exchangeBytes, savedBytes)) // a Read in between goes uncounted, which is no matter
			return
		case interface{ NetConn() net.Conn }:
			connection = c.NetConn()
		default:
			return
		}
	}
}

// dialBudgeted dials connections with the budget of one exchange, for opening them.
func dialBudgeted(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		dialled, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		c := &conn{Conn: dialled}
		c.left.Store(exchangeBytes)
		return c, nil
	}
}
