package delivery

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"unicode/utf8"

	"contactbase/internal/safehttp"
)

// Failure is why an attempt got no complete response.
type Failure int

// The kinds of failures. All but FailureNone are about the endpoint, not the event.
const (
	FailureNone    Failure = iota // there was a complete response, of any status
	FailureTimeout                // no response within the timeout
	FailureNetwork                // DNS, TLS, a refused or broken connection, a blocked address
	FailureLocal                  // not sent, because of a fault on our side
)

// maxErrorLength is the length of the error columns, in characters.
const maxErrorLength = 1000

// isTimeout reports whether the endpoint did not answer in time. An unresponsive name server is not a timeout.
func isTimeout(err error) bool {
	var slow net.Error
	var dns *net.DNSError
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &slow) && slow.Timeout() && !errors.As(err, &dns)
}

// describe tells the webhook's admin why an attempt got no complete response. It omits the URL, which
// may contain a token.
func describe(err error) string {
	var (
		wrapped     *url.Error
		blocked     *safehttp.BlockedError
		dns         *net.DNSError
		certificate *tls.CertificateVerificationError
		record      tls.RecordHeaderError
		operation   *net.OpError
		hostname    x509.HostnameError
		proxy       *safehttp.ProxyError
	)
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	switch {
	case errors.As(err, &proxy) && proxy.Err != nil:
		return "the proxy " + proxy.Proxy + ": " + describe(proxy.Err)
	case errors.As(err, &blocked):
		return blockedAddress(blocked.Address)
	case errors.Is(err, context.Canceled):
		return "interrupted"
	case errors.Is(err, safehttp.ErrTooMuch):
		return "the endpoint sends too much data"
	case errors.As(err, &dns) && dns.IsNotFound:
		return "dns: the host " + dns.Name + " does not exist"
	case errors.As(err, &dns):
		return "dns: the host " + dns.Name + " could not be resolved (" + dns.Err + ")"
	case errors.As(err, &hostname), errors.As(err, &certificate):
		return "tls: the certificate is not valid (" + reason(err) + ")" + ownAuthority(err)
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "tls: the endpoint does not speak TLS on this port"
	case errors.As(err, &operation) && operation.Op == "remote error": // crypto/tls's name of an alert
		return "tls: the endpoint refused the handshake (" + operation.Err.Error() + ")"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "connection reset by the endpoint"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "the host cannot be reached"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed before the response was complete"
	default:
		return err.Error()
	}
}

// blockedAddress says how to open an address with a port.
func blockedAddress(address string) string {
	open := "--webhookAllow"
	ip, err := netip.ParseAddr(address)
	if there, withPort := netip.ParseAddrPort(address); withPort == nil {
		ip, err = there.Addr(), nil
	}
	if err == nil {
		open += " " + netip.PrefixFrom(ip.WithZone(""), ip.BitLen()).String()
	}
	return "blocked address: " + address +
		" is not a public address; to let webhooks reach it, start the server or command with " + open
}

// reason returns why a certificate is invalid, without the generic words around it.
func reason(err error) string {
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) {
		err = verification.Err
	}
	return err.Error()
}

// ownAuthority says how to trust the authority of a certificate, if the error is that it is unknown.
func ownAuthority(err error) string {
	if unknown := (x509.UnknownAuthorityError{}); !errors.As(err, &unknown) {
		return ""
	}
	return "; if it is of your own authority, start the program with SSL_CERT_FILE, " +
		"which names a file with the authority's certificate"
}

// truncate makes the text valid UTF-8 and shortens it to that many characters.
func truncate(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if utf8.RuneCountInString(text) <= limit {
		return text
	}
	return string([]rune(text)[:limit-1]) + "…"
}
