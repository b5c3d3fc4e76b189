package visitor

import (
	"net"
	"net/http"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/order"
)

const requestKey = "@contactbaseRequest"

// MaskAddresses makes PocketBase's rate limits count by Network: they read addresses from the request, so they
// get a copy of it. Addresses that the settings exclude from the limits stay. RestoreAddresses restores the
// request for all others.
func MaskAddresses() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id:       "contactbaseMaskAddresses",
		Priority: order.AddressesMasked,
		Func: func(e *core.RequestEvent) error {
			address := e.RealIP()
			network, limits := Network(address), e.App.Settings().RateLimits
			if network == address || !limits.Enabled || isListed(limits.ExcludedIPs, address) {
				return e.Next()
			}
			original := e.Request
			defer func() { e.Request = original }() // also if it is refused
			masked := *original
			masked.RemoteAddr = net.JoinHostPort(network, "0")
			if headers := e.App.Settings().TrustedProxy.Headers; len(headers) > 0 {
				masked.Header = original.Header.Clone()
				for _, name := range headers {
					masked.Header.Del(name)
				}
			}
			e.Set(requestKey, original)
			e.Request = &masked
			return e.Next()
		},
	}
}

// otpRoute is the end of the route on which PocketBase limits guesses of one-time passwords itself,
// after its middleware.
const otpRoute = "/auth-with-otp"

// RestoreAddresses restores the request that MaskAddresses has replaced. Where one-time passwords are guessed, it
// stays, unless PocketBase also compares the address with those of superusers.
func RestoreAddresses() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id:       "contactbaseRestoreAddresses",
		Priority: order.AddressesRestored,
		Func: func(e *core.RequestEvent) error {
			original, masked := e.Get(requestKey).(*http.Request)
			if masked && (!strings.HasSuffix(original.Pattern, otpRoute) || len(e.App.Settings().SuperuserIPs) > 0) {
				e.Request = original
			}
			return e.Next()
		},
	}
}
