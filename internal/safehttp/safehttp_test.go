package safehttp

import (
	"context"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}

// get sends a GET request with a deadline that only a hanging request reaches.
func get(t *testing.T, client *http.Client, target string) (*http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err == nil {
		t.Cleanup(func() { _ = response.Body.Close() })
	}
	return response, err
}

// resolver resolves every name to what answer returns, which it calls for each query for IPv4 addresses.
func resolver(t *testing.T, answer func(name string) []netip.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go func() {
			defer server.Close()
			if err := serveDNS(server, answer); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("the DNS server: %v", err)
			}
		}()
		return client, nil
	}}
}

// serveDNS answers queries over TCP, each of which follows its length (RFC 1035, section 4.2.2).
func serveDNS(conn net.Conn, answer func(name string) []netip.Addr) error {
	for {
		var size [2]byte
		if _, err := io.ReadFull(conn, size[:]); err != nil {
			return err
		}
		packet := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(conn, packet); err != nil {
			return err
		}
		var query dnsmessage.Message
		if err := query.Unpack(packet); err != nil {
			return err
		}
		question := query.Questions[0]
		reply := dnsmessage.Message{
			Header:    dnsmessage.Header{ID: query.ID, Response: true, Authoritative: true},
			Questions: query.Questions,
		}
		if question.Type == dnsmessage.TypeA {
			for _, addr := range answer(question.Name.String()) {
				reply.Answers = append(reply.Answers, dnsmessage.Resource{
					Header: dnsmessage.ResourceHeader{Name: question.Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
					Body:   &dnsmessage.AResource{A: addr.As4()},
				})
			}
		}
		packed, err := reply.AppendPack(make([]byte, 2, 514))
		if err != nil {
			return err
		}
		binary.BigEndian.PutUint16(packed, uint16(len(packed)-2))
		if _, err := conn.Write(packed); err != nil {
			return err
		}
	}
}

func TestClientRefusesEverySpelling(t *testing.T) {
	t.Parallel()
	// the addresses to which a C library resolves unusual notations, which Go's resolver treats as names
	inside := resolver(t, func(string) []netip.Addr { return []netip.Addr{netip.MustParseAddr("127.0.0.1")} })
	client := New(Options{Resolver: inside})
	for _, host := range []string{
		"127.0.0.1", "localhost", "localhost.", "LOCALHOST", "inside.example.com", "127.0.0.1.nip.example",
		"127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "127.0.0.0x1",
		"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]",
		"[64:ff9b::127.0.0.1]", "[2002:7f00:1::]", "[fe80::1]", "[fd00:ec2::254]",
		"0.0.0.0", "0", "10.1.2.3", "192.168.0.1", "169.254.169.254",
	} {
		t.Run(host, func(t *testing.T) {
			t.Parallel()
			_, err := get(t, client, "http://"+host+":9/")
			if _, odd := netip.ParseAddr(host); odd == nil || !endsInNumber(host) {
				if !errors.Is(err, ErrBlocked) {
					t.Errorf("got %v, want ErrBlocked", err)
				}
				return
			}
			// Go's resolver finds no name that ends in a number. A C library's does, and the guard refuses that, too.
			var unknown *net.DNSError
			if !errors.Is(err, ErrBlocked) && !errors.As(err, &unknown) {
				t.Errorf("got %v, want ErrBlocked or an unknown name", err)
			}
		})
	}
}

func TestClientChecksWhatItDialsNotWhatWasResolvedBefore(t *testing.T) {
	t.Parallel()
	var lookups atomic.Int32
	rebinding := resolver(t, func(string) []netip.Addr {
		if lookups.Add(1) == 1 {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	})
	addrs, err := rebinding.LookupNetIP(t.Context(), "ip4", "rebinding.example.com.")
	if err != nil || (Options{}).Refuses(addrs[0].String()) {
		t.Fatalf("the name should first resolve to a public address: %v, %v", addrs, err)
	}
	if _, err := get(t, New(Options{Resolver: rebinding}), "http://rebinding.example.com./"); !errors.Is(err, ErrBlocked) {
		t.Errorf("got %v, want ErrBlocked", err)
	}
}

func TestClientReachesAllowedAddressesByName(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	t.Cleanup(server.Close)
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	names := resolver(t, func(string) []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("10.255.255.1"), netip.MustParseAddr("127.0.0.1")}
	})
	response, err := get(t, New(Options{Allow: loopback, Resolver: names}), "http://hooks.example.com.:"+port+"/")
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusNoContent {
		t.Errorf("got %d", response.StatusCode)
	}
}

func TestClientFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	var reached atomic.Bool
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	t.Cleanup(inside.Close)
	outside := httptest.NewServer(http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect))
	t.Cleanup(outside.Close)

	response, err := get(t, New(Options{Allow: loopback}), outside.URL)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusTemporaryRedirect || reached.Load() {
		t.Errorf("got %d, target reached: %v", response.StatusCode, reached.Load())
	}
}

func TestRedirectInsideIsRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	// the client follows no redirects, but a caller can make it follow them
	var redirect http.Handler
	outside := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { redirect.ServeHTTP(w, r) }))
	t.Cleanup(outside.Close)
	listener, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Skipf("this system has one loopback address only: %v", err)
	}
	inside := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }))
	_ = inside.Listener.Close()
	inside.Listener = listener
	inside.Start()
	t.Cleanup(inside.Close)
	redirect = http.RedirectHandler(inside.URL, http.StatusTemporaryRedirect)

	follow := func(allow ...string) (*http.Response, error) {
		options := Options{}
		for _, prefix := range allow {
			options.Allow = append(options.Allow, netip.MustParsePrefix(prefix))
		}
		client := New(options)
		client.CheckRedirect = nil
		return get(t, client, outside.URL)
	}
	if _, err := follow("127.0.0.1/32"); !errors.Is(err, ErrBlocked) {
		t.Errorf("got %v, want ErrBlocked", err)
	}
	response, err := follow("127.0.0.1/32", "127.0.0.2/32")
	if err != nil || response.StatusCode != http.StatusNoContent {
		t.Errorf("got %v, %v", response, err)
	}
}

func TestClientVerifiesCertificates(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Protocol", r.Proto)
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it reports the handshake that fails
	server.StartTLS()
	t.Cleanup(server.Close)

	client := New(Options{Allow: loopback})
	var unknown x509.UnknownAuthorityError
	if _, err := get(t, client, server.URL); !errors.As(err, &unknown) {
		t.Errorf("got %v, want an unknown authority", err)
	}

	known := x509.NewCertPool()
	known.AddCert(server.Certificate())
	response, err := get(t, New(Options{Allow: loopback, RootCAs: known}), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if got := response.Header.Get("X-Protocol"); got != "HTTP/2.0" {
		t.Errorf("spoke %s", got)
	}
}

// A server that closes every connection causes only one full handshake.
func TestClientResumesSessions(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.SetKeepAlivesEnabled(false)
	server.StartTLS()
	t.Cleanup(server.Close)
	known := x509.NewCertPool()
	known.AddCert(server.Certificate())
	client := New(Options{Allow: loopback, RootCAs: known})
	for n := range 3 {
		response, err := get(t, client, server.URL)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
		if response.TLS.DidResume != (n > 0) {
			t.Errorf("request %d resumed a session: %v", n+1, response.TLS.DidResume)
		}
	}
}

// The client keeps as many idle connections as there may be concurrent requests, and a quarter of them for one host.
func TestClientKeepsConnections(t *testing.T) {
	t.Parallel()
	transport := New(Options{IdleConnections: 4096}).Transport.(limited)
	if transport.MaxIdleConns != 4096 || transport.MaxIdleConnsPerHost != 1024 {
		t.Errorf("%d connections are kept, %d for a host", transport.MaxIdleConns, transport.MaxIdleConnsPerHost)
	}
}

// A proxy would dial addresses that the client has not checked.
func TestClientIgnoresProxies(t *testing.T) {
	t.Parallel()
	if New(Options{}).Transport.(limited).Proxy != nil {
		t.Error("the client looks for a proxy in the environment")
	}
}
