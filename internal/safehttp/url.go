package safehttp

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxURLLength is the longest URL that CheckURL accepts, in characters.
const maxURLLength = 2048

// CheckURL checks the syntax of a URL for a client. Its error completes a sentence that begins with "The URL". It
// does not check the address of the host, which is known only when the client dials.
func CheckURL(raw string) error {
	if utf8.RuneCountInString(raw) > maxURLLength {
		return fmt.Errorf("must have at most %d characters", maxURLLength)
	}
	if strings.TrimSpace(raw) != raw {
		return errors.New("must not begin or end with whitespace")
	}
	parsed, err := url.Parse(raw)
	if err != nil {
		// the error of url.Parse repeats the whole URL, which may contain a token
		var fault *url.Error
		if errors.As(err, &fault) {
			err = fault.Err
		}
		return fmt.Errorf("is malformed: %w", err)
	}
	switch {
	case parsed.Scheme != "http" && parsed.Scheme != "https":
		return errors.New("must begin with https:// or http://")
	case parsed.User != nil:
		return errors.New("must not contain a username or password; send an Authorization header instead")
	case parsed.Hostname() == "":
		return errors.New("must name a host, as in https://example.com/hook")
	}
	return checkAuthority(parsed)
}

func checkAuthority(parsed *url.URL) error {
	host := parsed.Hostname()
	if endsInNumber(host) {
		if _, err := netip.ParseAddr(host); err != nil {
			return errors.New(
				"has an IP address in an unusual notation; write it as four numbers from 0 to 255 with dots between",
			)
		}
	}
	if strings.HasSuffix(parsed.Host, ":") {
		return errors.New("has a colon after the host but no port")
	}
	if port := parsed.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return errors.New("must have a port from 1 to 65535")
		}
	}
	return nil
}

// endsInNumber reports whether browsers and inet_aton parse the host as an IPv4 address, for example 127.1,
// 0177.0.0.1, 0x7f000001 or 2130706433 (WHATWG URL, "ends in a number checker"). No top-level domain is a number.
func endsInNumber(host string) bool {
	if strings.Contains(host, ":") {
		return false // IPv6
	}
	host = strings.TrimSuffix(host, ".")
	last := strings.ToLower(host[strings.LastIndexByte(host, '.')+1:])
	if hex, ok := strings.CutPrefix(last, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// Host returns the host of a URL without the port, or "" if it has none.
func Host(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}

// Refuses reports whether a client with these options refuses a host that is an IP address or localhost. It does not
// use DNS, and is only for warnings: the client checks each address when it dials.
func (o Options) Refuses(host string) bool {
	if isLocalhost(host) {
		host = "127.0.0.1"
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && newGuard(o).guardian.SafeAddr(addr.Unmap()) != nil
}

// isLocalhost reports whether a host is a name of this machine.
func isLocalhost(host string) bool {
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}
