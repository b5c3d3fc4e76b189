package safehttp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// ErrUnresolved is why a client with Options.MustResolve refuses a name. It is an ErrBlocked.
var ErrUnresolved = fmt.Errorf("%w: the name cannot be resolved here", ErrBlocked)

// ProxyError is the error of a request that the proxy refused, or that did not reach it.
type ProxyError struct {
	Proxy  string // its host and port
	Status string // what it answered, "" for nothing
	Err    error  // why there is no answer
}

func (e *ProxyError) Error() string {
	if e.Status != "" {
		return "the proxy " + e.Proxy + " rejected the request: " + e.Status
	}
	return "the proxy " + e.Proxy + ": " + e.Err.Error()
}

func (e *ProxyError) Unwrap() error { return e.Err }

// ParseProxy reads the URL of a proxy. The error completes a sentence, and does not repeat the URL, which may have a
// password.
func ParseProxy(raw string) (*url.URL, error) {
	parsed, err := url.Parse(raw)
	switch {
	case err != nil || parsed.Hostname() == "" || strings.Trim(parsed.Path, "/")+parsed.RawQuery+parsed.Fragment != "":
		return nil, errors.New("must be a URL such as http://proxy.example.com:3128")
	case !slices.Contains([]string{"http", "https", "socks5"}, parsed.Scheme):
		return nil, errors.New("must begin with http://, https:// or socks5://")
	}
	if err := checkAuthority(parsed); err != nil {
		return nil, fmt.Errorf("%w, as in http://proxy.example.com:3128", err)
	}
	return parsed, nil
}

// proxied sends requests through a proxy. As that connects to the addresses, their check is of the name or literal, and
// of what the name resolves to here: the proxy must refuse private addresses itself.
type proxied struct {
	limited
	proxy *url.URL
	names *names
}

// newProxied returns the transport through options.Proxy, whose own address may be private.
func newProxied(options Options, g *guard) proxied {
	transport := newTransport(options, &net.Dialer{
		Timeout: options.Timeout, KeepAlive: keepAlive, Resolver: options.Resolver,
	})
	transport.Proxy = http.ProxyURL(options.Proxy)
	transport.OnProxyConnectResponse = func(
		_ context.Context, _ *url.URL, _ *http.Request, response *http.Response,
	) error {
		if response.StatusCode != http.StatusOK {
			return &ProxyError{Proxy: options.Proxy.Host, Status: response.Status}
		}
		return nil
	}
	resolver := options.Resolver
	if resolver == nil {
		resolver = net.DefaultResolver
	}
	return proxied{limited{transport}, options.Proxy, &names{
		guard: g, resolver: resolver, must: options.MustResolve, checked: map[string]verdict{},
	}}
}

// RoundTrip implements http.RoundTripper.
func (p proxied) RoundTrip(request *http.Request) (*http.Response, error) {
	if err := p.names.check(request.Context(), request.URL.Hostname()); err != nil {
		return nil, err
	}
	response, err := p.limited.RoundTrip(request)
	var operation *net.OpError
	switch {
	case err == nil && response.StatusCode == http.StatusProxyAuthRequired && request.URL.Scheme == "http" &&
		p.proxy.Scheme != "socks5": // not in a tunnel: the proxy's own answer
		response.Body.Close()
		return nil, &ProxyError{Proxy: p.proxy.Host, Status: response.Status}
	case errors.As(err, &operation) && (operation.Op == "proxyconnect" || operation.Op == "socks connect"):
		return nil, &ProxyError{Proxy: p.proxy.Host, Err: operation.Err}
	}
	return response, err
}

const (
	resolveTimeout = 2 * time.Second // many networks with a proxy leave questions about other names unanswered
	verdictAge     = time.Minute
	maxVerdicts    = 1024
)

// names checks the hosts of URLs. It remembers verdicts for a minute.
type names struct {
	guard    *guard
	resolver *net.Resolver
	must     bool // whether names that do not resolve are refused

	mu      sync.Mutex
	checked map[string]verdict
}

type verdict struct {
	err error
	at  time.Time
}

func (n *names) check(ctx context.Context, host string) error {
	n.mu.Lock()
	known, found := n.checked[host]
	n.mu.Unlock()
	if found && time.Since(known.at) < verdictAge {
		return known.err
	}
	err := n.look(ctx, host)
	if ctx.Err() != nil {
		return ctx.Err() // rather than what depends on it
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.checked) >= maxVerdicts {
		clear(n.checked)
	}
	n.checked[host] = verdict{err, time.Now()}
	return err
}

// look returns an ErrBlocked if the host is, or resolves to, an address that is not allowed.
func (n *names) look(ctx context.Context, host string) error {
	if isLocalhost(host) {
		host = "127.0.0.1"
	}
	if literal, err := netip.ParseAddr(host); err == nil {
		return n.guard.checkAddress(literal)
	}
	if endsInNumber(host) { // which the proxy may read as an address
		return &BlockedError{Address: host}
	}
	ctx, cancel := context.WithTimeout(ctx, resolveTimeout)
	defer cancel()
	addresses, err := n.resolver.LookupNetIP(ctx, "ip", host)
	if err != nil && n.must {
		return ErrUnresolved
	}
	for _, address := range addresses {
		if err := n.guard.checkAddress(address); err != nil {
			return err
		}
	}
	return nil
}
