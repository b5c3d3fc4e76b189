package safehttp

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

// connectProxy is an HTTP proxy for the user ada. It connects each name to the one receiver, and counts the requests.
type connectProxy struct {
	to     string
	served atomic.Int64
}

func (p *connectProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.served.Add(1)
	if want := "Basic " + base64.StdEncoding.EncodeToString([]byte("ada:s3cret")); r.Header.Get("Proxy-Authorization") != want {
		w.WriteHeader(http.StatusProxyAuthRequired)
		return
	}
	if strings.HasPrefix(r.Host, "forbidden.") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	if r.Method != http.MethodConnect {
		r.URL.Host, r.RequestURI = p.to, ""
		r.Header.Del("Proxy-Authorization")
		answer, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, answer.Body)
		return
	}
	target, err := net.Dial("tcp", p.to)
	if err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusOK)
	client, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	pipe(client, target)
}

func pipe(a, b net.Conn) {
	go func() { _, _ = io.Copy(a, b); a.Close() }()
	_, _ = io.Copy(b, a)
	b.Close()
}

// socks is a SOCKS5 server (RFC 1928, 1929) for the user ada, which connects each name to the one receiver.
func socks(t *testing.T, to string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go serveSocks(client, to)
		}
	}()
	return listener.Addr().String()
}

func serveSocks(client net.Conn, to string) {
	defer client.Close()
	read := bufio.NewReader(client)
	next := func(n int) []byte {
		b := make([]byte, n)
		_, _ = io.ReadFull(read, b)
		return b
	}
	next(int(next(2)[1]))             // version, methods
	_, _ = client.Write([]byte{5, 2}) // user and password
	user := next(int(next(2)[1]))     // version, user
	password := next(int(next(1)[0])) //
	if string(user)+":"+string(password) != "ada:s3cret" {
		_, _ = client.Write([]byte{1, 1})
		return
	}
	_, _ = client.Write([]byte{1, 0})
	host := ""
	switch next(4)[3] { // version, command, reserved, type of address
	case 1:
		host = net.IP(next(4)).String()
	case 3:
		host = string(next(int(next(1)[0])))
	}
	next(2) // port
	if strings.HasPrefix(host, "forbidden.") {
		_, _ = client.Write([]byte{5, 2, 0, 1, 0, 0, 0, 0, 0, 0}) // not allowed by the ruleset
		return
	}
	target, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	_, _ = client.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
	pipe(client, target)
}

// send sends a request to the address through the proxy.
func send(t *testing.T, options Options, proxy, address string) (string, error) {
	t.Helper()
	parsed, err := ParseProxy(proxy)
	if err != nil {
		t.Fatal(err)
	}
	options.Proxy = parsed
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	client := New(options)
	defer client.CloseIdleConnections()
	response, err := client.Transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode, " ", string(read)), err
}

// noNames is a resolver that knows no name.
var noNames = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
	return nil, errors.New("there is no name server")
}}

// Requests go through the proxy, also those to hosts that only it can resolve. What it refuses is an error that names
// it, without its password.
func TestProxies(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("NO_PROXY", "*")
	receive := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		read, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Host, read, r.Header.Get("Proxy-Authorization"))
	})
	plain, encrypted := httptest.NewServer(receive), httptest.NewTLSServer(receive)
	t.Cleanup(plain.Close)
	t.Cleanup(encrypted.Close)
	options := Options{Allow: loopback, Resolver: noNames}
	options.RootCAs = encrypted.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs

	for scheme, receiver := range map[string]*httptest.Server{"http": plain, "https": encrypted} {
		to := receiver.Listener.Addr().String()
		httpProxy := httptest.NewServer(&connectProxy{to: to})
		tlsProxy := httptest.NewTLSServer(&connectProxy{to: to})
		t.Cleanup(httpProxy.Close)
		t.Cleanup(tlsProxy.Close)
		for kind, at := range map[string]string{
			"http": httpProxy.Listener.Addr().String(), "https": tlsProxy.Listener.Addr().String(), "socks5": socks(t, to),
		} {
			through := kind + "://ada:s3cret@" + at
			for _, host := range []string{"example.com", to} { // the certificate of tests is for both
				if got, err := send(t, options, through, scheme+"://"+host+"/x"); err != nil || got != "200 "+host+" body " {
					t.Errorf("%s through %s to %s: %q, %v", scheme, kind, host, got, err)
				}
			}
			for proxy, address := range map[string]string{
				kind + "://ada:wr0ng@" + at:        scheme + "://example.com/x",
				through:                            "https://forbidden.example.com/x",
				kind + "://ada:s3cret@127.0.0.1:1": scheme + "://example.com/x",
			} {
				got, err := send(t, options, proxy, address)
				var refused *ProxyError
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), refused.Proxy) || strings.Contains(err.Error(), "s3cret") ||
					strings.Contains(err.Error(), "wr0ng") || !strings.HasSuffix(proxy, "@"+refused.Proxy) {
					t.Errorf("%s through %s: %q, %v", address, proxy, got, err)
				}
			}
		}
	}
}

// The addresses of a URL are checked before the proxy learns of them, as far as they are known here.
func TestProxiedAddressesAreChecked(t *testing.T) {
	t.Parallel()
	proxy := &connectProxy{to: "127.0.0.1:1"}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	for _, address := range []string{
		"http://10.0.0.1/", "https://[::1]:8443/", "http://[fe80::1%25eth0]/", "http://169.254.169.254/latest", "https://localhost/", "http://a.localhost./",
		"http://127.1/", "http://2130706433/", "https://[::ffff:192.168.1.1]/",
	} {
		if got, err := send(t, Options{}, server.URL, address); !errors.Is(err, ErrBlocked) {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	for what, options := range map[string]Options{
		"a name of a private address": {Resolver: resolver(t, func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("10.0.0.1")} })},
		"one that cannot be resolved": {Resolver: noNames, MustResolve: true},
	} {
		if got, err := send(t, options, server.URL, "https://crm.example.com/"); !errors.Is(err, ErrBlocked) ||
			errors.Is(err, ErrUnresolved) != options.MustResolve {
			t.Errorf("%s: %q, %v", what, got, err)
		}
	}
	if n := proxy.served.Load(); n != 0 {
		t.Errorf("the proxy receives %d requests", n)
	}
}

func TestParseProxy(t *testing.T) {
	t.Parallel()
	for raw, valid := range map[string]bool{
		"http://proxy:3128": true, "https://u:p%40ss@proxy.example.com/": true, "socks5://[2001:db8::1]:1080": true, "http://10.0.0.1": true,
		"proxy:3128": false, "ftp://secret@proxy": false, "socks5h://secret@proxy": false, "http://": false, "http://u:secret@:1": false,
		"http://u:se/cret@proxy": false, "http://proxy:99999": false, "http://secret:x@proxy/path": false, "http://proxy?x=secret": false, "http://1.2.3": false,
	} {
		parsed, err := ParseProxy(raw)
		if (err == nil) != valid || err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", raw, parsed, err)
		}
	}
}
