// Package address returns the URLs at which servers are reached.
package address

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/pocketbase/pocketbase/core"
)

// Of returns the URL of a listener: with its domain, or if that is "", as this machine reaches it.
func Of(listening net.Addr, https bool, domain string) string {
	scheme, usual := "http", ":80"
	if https {
		scheme, usual = "https", ":443"
	}
	if domain != "" {
		return scheme + "://" + domain
	}
	host, port, _ := net.SplitHostPort(listening.String()) // a listener's address always has both
	return scheme + "://" + strings.TrimSuffix(net.JoinHostPort(loopbackFor(host), port), usual)
}

// Local returns the base URL by which this machine reaches a server that listens on address, such as 0.0.0.0:8090.
func Local(address string) (string, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	return "http://" + net.JoinHostPort(loopbackFor(host), port), nil
}

// loopbackFor returns the host by which this machine reaches a server that listens on host.
func loopbackFor(host string) string {
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		return "127.0.0.1"
	}
	return host
}

// Store sets PocketBase's setting Application URL, the base of inbound webhooks' addresses, to the served address. It
// keeps a value that someone entered: anything but the default or an address of this machine.
func Store(app core.App, base string) error {
	app.Store().Set(storedKey, base)
	settings := app.Settings()
	if settings.Meta.AppURL == base || !isLocal(settings.Meta.AppURL) {
		return nil
	}
	settings.Meta.AppURL = base
	if err := app.Save(settings); err != nil {
		return fmt.Errorf("setting the application URL: %w", err)
	}
	return nil
}

func isLocal(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(parsed.Hostname())
	return parsed.Hostname() == "localhost" || err == nil && ip.IsLoopback()
}
