// Package safehttp makes HTTP clients for URLs that users enter. Such a URL may lead to this machine, its private
// network, or the metadata service of a cloud (server-side request forgery, CWE-918).
//
// The client checks each IP address when it dials, after DNS. A name that was harmless when the user saved it may
// resolve to a private address a minute later, and no check of the text knows every notation of an address.
package safehttp

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"
)

// ErrBlocked means that the client refuses the address of a request.
var ErrBlocked = errors.New("blocked address")

// Private lists the networks that Options.AllowPrivate allows: the machine itself and private networks (RFC 1918, RFC
// 4193, RFC 6598). It does not include link-local addresses (169.254.0.0/16, fe80::/10), where clouds serve
// credentials; Options.Allow can allow them.
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
	hostShare              = 4 // one host has at most a quarter of the idle connections: many webhooks share a host
	keepAlive              = 30 * time.Second
	idleTimeout            = 90 * time.Second
	maxResponseHeader      = 32 << 10 // bytes, including informational responses (1xx)

	// defaultTimeout also limits what net/http continues after a request has ended, because other requests may
	// use the connection.
	defaultTimeout = 15 * time.Second

	// The buffers limit how much unread data of HTTP/2 responses is in memory, in bytes. net/http's defaults
	// are 4 MiB and 1 GiB.
	streamBuffer     = 64 << 10
	connectionBuffer = 1 << 20
)

// Options are the options of a client. The zero value allows only public addresses.
type Options struct {
	AllowPrivate bool           // whether to allow the networks in Private
	Allow        []netip.Prefix // networks to allow in addition, of any kind

	// IdleConnections is how many idle connections are kept, 1024 by default, and at most a quarter of them for one
	// host. As many TLS sessions are cached, which shorten the handshake of later connections.
	IdleConnections int

	Timeout  time.Duration  // for connecting, for the TLS handshake, and for writing without progress; 15 s by default
	RootCAs  *x509.CertPool // nil for those of the system
	Resolver *net.Resolver  // nil for that of the system

	// Proxy is the proxy to send all requests through, nil for none. Variables such as HTTPS_PROXY do not matter.
	// MustResolve refuses names that cannot be resolved here, because only the proxy would know their addresses.
	Proxy       *url.URL
	MustResolve bool
}

// New returns a client that dials only the addresses that options allow, on any port, or has the proxy dial them. It
// uses HTTP/1.1 and HTTP/2, verifies certificates, returns redirects instead of following them, and does not
// decompress bodies. It closes a connection on which the server sends more than 512 KiB for a request. It sets no
// timeout: every request needs a context with a deadline.
func New(options Options) *http.Client {
	options.IdleConnections = cmp.Or(options.IdleConnections, defaultIdleConnections)
	options.Timeout = cmp.Or(options.Timeout, defaultTimeout)
	return &http.Client{
		Transport:     newRoundTripper(options, newGuard(options)),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func newRoundTripper(options Options, g *guard) http.RoundTripper {
	if options.Proxy != nil {
		return newProxied(options, g)
	}
	dialer := &net.Dialer{Timeout: options.Timeout, KeepAlive: keepAlive, Control: g.control, Resolver: options.Resolver}
	return limited{newTransport(options, dialer)}
}

func newTransport(options Options, dialer *net.Dialer) *http.Transport {
	return &http.Transport{ // without a proxy, which would dial instead
		DialContext: dialLimited(dialer),
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
}

// dropped has parts of the lines that net/http's client logs to the standard logger because of what servers send.
// Some are logged for every frame, and some quote it.
var dropped = [][]byte{
	[]byte("Unsolicited response received on idle HTTP channel"),
	[]byte("Transport: unhandled response frame type"),
	[]byte("protocol error: received "),
	[]byte("http2: Transport received unsolicited DATA frame"),
}

// Quiet returns a writer for the standard logger (log.SetOutput) that drops the lines that servers can cause in
// net/http's client. The client always uses that logger, so nothing but the text of a line distinguishes them.
func Quiet(to io.Writer) io.Writer { return quiet{to} }

type quiet struct{ to io.Writer }

// Write implements io.Writer. The standard logger calls it once for each line.
func (q quiet) Write(line []byte) (int, error) {
	for _, part := range dropped {
		if bytes.Contains(line, part) {
			return len(line), nil
		}
	}
	return q.to.Write(line)
}
