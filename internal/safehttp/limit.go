package safehttp

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// ErrTooMuch means that a server sent more on a connection than its responses can need.
var ErrTooMuch = errors.New("the server sends too much data")

const (
	// exchangeBytes is how much a server may send on a connection for each request, and for opening it. The limit is
	// low because answering small frames takes far longer than reading as many bytes of a body.
	exchangeBytes = 512 << 10

	// maxAllowance is the most that requests on the same connection can add up to.
	maxAllowance = 64 << 20
)

// limited adds exchangeBytes to the allowance of a connection with each request.
//
// net/http limits headers, and the reader of a body limits bodies. But net/http reads settings, pings and
// other frames of HTTP/2 without a limit, and answers some of them, even after the request that opened the
// connection has ended.
type limited struct{ *http.Transport }

func (t limited) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := httptrace.WithClientTrace(request.Context(), &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { extend(info.Conn) },
	})
	return t.Transport.RoundTrip(request.WithContext(ctx))
}

// conn is a connection on which reads fail once its allowance is used up.
type conn struct {
	net.Conn
	left atomic.Int64 // bytes of the allowance
}

func (c *conn) Read(b []byte) (int, error) {
	if c.left.Load() <= 0 {
		return 0, ErrTooMuch
	}
	n, err := c.Conn.Read(b)
	c.left.Add(-int64(n))
	return n, err
}

// extend finds the conn below TLS, and extends its allowance by one exchange.
func extend(connection net.Conn) {
	for {
		switch c := connection.(type) {
		case *conn:
			c.left.Store(min(c.left.Load()+exchangeBytes, maxAllowance)) // not counting a concurrent Read is harmless
			return
		case interface{ NetConn() net.Conn }:
			connection = c.NetConn()
		default:
			return
		}
	}
}

// dialLimited dials connections with the allowance of one exchange.
func dialLimited(dialer *net.Dialer) func(ctx context.Context, network, address string) (net.Conn, error) {
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
