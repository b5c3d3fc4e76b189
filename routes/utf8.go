package routes

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/fault"
)

const utf8MiddlewareID = "contactbaseUTF8"

// requireUTF8 rejects requests whose path or query is not UTF-8. It runs after the checks of the key.
func requireUTF8() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id: utf8MiddlewareID,
		Func: func(e *core.RequestEvent) error {
			if faults := notUTF8In(e.Request.URL); len(faults) > 0 {
				return fault.InvalidParameters(faults)
			}
			return e.Next()
		},
	}
}

// notUTF8In returns the parts that are not UTF-8: "path", and query parameters by name.
func notUTF8In(address *url.URL) fault.Fields {
	if address.RawQuery == "" && utf8.ValidString(address.Path) {
		return nil
	}
	faults := fault.Fields{}
	wrong := fault.Field{Code: fault.CodeInvalidCharacters, Message: "must be UTF-8, percent-encoded as in M%C3%BCller"}
	if !utf8.ValidString(address.Path) {
		faults["path"] = wrong
	}
	for pair := range strings.SplitSeq(address.RawQuery, "&") {
		name, value, _ := strings.Cut(pair, "=")
		name, value = unescape(name), unescape(value)
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			faults[strings.ToValidUTF8(name, "\uFFFD")] = wrong
		}
	}
	return faults
}

// unescape decodes a part of a query. Malformed text stays unchanged: no handler decodes it either.
func unescape(text string) string {
	if decoded, err := url.QueryUnescape(text); err == nil {
		return decoded
	}
	return text
}
