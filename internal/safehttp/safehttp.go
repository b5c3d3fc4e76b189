// Package safehttp makes HTTP clients for addresses that users type. Such an address may lead inside: to this
// machine, to the network behind it, or to a cloud's metadata service (server-side request forgery, CWE-918).
//
// The address is checked when it is dialled, after DNS: a name that was harmless when the user saved it can point
// inside a minute later, and an address can be written in more ways than any check of the text knows.
package safehttp

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// ErrBlocked is in the chain of the error of a request whose target the guard refuses.
var ErrBlocked = errors.New("blocked address")

// Private is what Options.AllowPrivate opens: the machine itself and private networks (RFC 1918, RFC 4193,
// RFC 6598). Link-local addresses are not among them, because that is where clouds serve their credentials
// (169.254.169.254, fe80::/10); name them in Options.Allow if you need them.
var Private = []netip.Prefix{
	netip.MustParsePrefix("127.0.0.0/8"),
	netip.MustParsePrefix("10.0.0.0/8"),
	netip.MustParsePrefix("172.16.0.0/12"),
	netip.MustParsePrefix("192.168.0.0/16"),
	netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("::1/128"),
	netip.MustParsePrefix("fc00::/7"),
}

const (
	defaultIdleConnections = 1024
	hostShare              = 4 // many webhooks share a host, such as that of an automation service
	keepAlive              = 30 * time.Second
	idleTimeout            = 90 * time.Second
	maxResponseHeader      = 32 << 10 // bytes, informational ones (1xx) included

	// defaultTimeout is for what net/http goes on with after the request has ended, because others may want the connection.
	defaultTimeout = 15 * time.Second

	// streamBuffer and connectionBuffer are how much of the answers of HTTP/2 waits in memory to be read, in bytes.
	// By default it would be 4 MiB and 1 GiB.
	streamBuffer     = 64 << 10
	connectionBuffer = 1 << 20
)

// Options of a client. The zero value reaches the public internet only.
type Options struct {
	AllowPrivate bool           // also Private
	Allow        []netip.Prefix // also exactly these, of any kind

	// Proxy is an HTTP proxy for all requests; nil is none. Proxies from the environment are never used. With one it
	// is the proxy that resolves names and dials, so that it has to guard against names that lead inside: the guard
	// here sees only the proxy's own address, which has to be allowed, and targets that are addresses already.
	Proxy *url.URL

	// IdleConnections is how many unused connections are kept for the next request; 0 means 1024. One host has no more
	// than a quarter of them. As many sessions of TLS are remembered, which spare a new connection most of the handshake.
	IdleConnections int

	Timeout  time.Duration  // of connecting, of the handshake of TLS, and of writing to who does not read; 0 means 15 s
	RootCAs  *x509.CertPool // who may sign certificates; nil is the system's
	Resolver *net.Resolver  // nil is the system's
}

// New returns a client that refuses to dial where Options does not allow it. Any port will do. It speaks HTTP/1.1
// and HTTP/2, verifies certificates, follows no redirects (a 3xx is the answer), leaves a compressed body as it is,
// ends a connection that carries more than 512 KiB for a request, and sets a request no time: give every one a context
// with a deadline.
func New(options Options) *http.Client {
	if options.IdleConnections == 0 {
		options.IdleConnections = defaultIdleConnections
	}
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	g := newGuard(options)
	return &http.Client{
		Transport:     budgeted{newTransport(options, g)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newTransport(options Options, g *guard) *http.Transport {
	dialer := &net.Dialer{Timeout: options.Timeout, KeepAlive: keepAlive, Control: g.control, Resolver: options.Resolver}
	transport := &http.Transport{
		DialContext: dialBudgeted(dialer),
		TLSClientConfig: &tls.Config{
			RootCAs:            options.RootCAs,
			ClientSessionCache: tls.NewLRUClientSessionCache(options.IdleConnections),
		},
		TLSHandshakeTimeout: options.Timeout,
		ForceAttemptHTTP2:   true,
		HTTP2: &http.HTTP2Config{
			SendPingTimeout:               keepAlive,
			PingTimeout:                   keepAlive / 2,
			WriteByteTimeout:              options.Timeout,
			MaxReceiveBufferPerStream:     streamBuffer,
			MaxReceiveBufferPerConnection: connectionBuffer,
		},
		MaxIdleConns:           options.IdleConnections,
		MaxIdleConnsPerHost:    max(1, options.IdleConnections/hostShare),
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxResponseHeader,
		DisableCompression:     true,
	}
	if options.Proxy != nil {
		transport.Proxy = func(request *http.Request) (*url.URL, error) {
			return options.Proxy, g.checkLiteral(request.URL.Hostname())
		}
	}
	return transport
}
