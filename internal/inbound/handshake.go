package inbound

import (
	"bytes"
	"crypto/subtle"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"contactbase/internal/fault"
	"contactbase/internal/wire"
)

const (
	maxChallenge = 1 << 10  // the longest challenge that is echoed, in bytes
	maxHandshake = 16 << 10 // the longest body of a handshake, in bytes: it is decoded before the signature is checked
)

// headerHookSecret has the secret with which Asana signs later requests. Asana expects it back.
const headerHookSecret = "X-Hook-Secret" //nolint:gosec // a header's name

// Handshake is a request with which a sender checks that the owner of the address wants its requests. The response
// proves it by an echo.
type Handshake struct {
	Sender string // whose kind of handshake it is
	Kept   string // what may be stored of the request

	HookSecret, ContentType, Body string // of the response; HookSecret is a header, "" for none
}

// HandshakeOf returns the request as a handshake, nil if it is another request. body is nil unless the request is a
// POST. The error is a *fault.Error for a handshake with a wrong token or a challenge that must not be echoed.
func HandshakeOf(r *http.Request, token string, body []byte) (*Handshake, error) {
	query := r.URL.Query()
	switch r.Method {
	case http.MethodGet:
		if query.Get("hub.mode") == "subscribe" {
			return metaHandshake(query, token)
		}
		return echoQuery("Dropbox", "challenge", query)
	case http.MethodPost:
		if len(body) > maxHandshake {
			return nil, nil
		}
		if isEmpty(body) && r.Header.Get(headerHookSecret) != "" {
			secret := r.Header.Get(headerHookSecret)
			shake := &Handshake{
				Sender: "Asana", Kept: headerHookSecret + ": [redacted]",
				HookSecret: secret, ContentType: plainText, Body: "ok",
			}
			return shake, checkChallenge(headerHookSecret, secret)
		}
		if shake, err := echoQuery("Microsoft", "validationToken", query); shake != nil {
			return shake, err
		}
		return slackHandshake(body)
	}
	return nil, nil
}

const plainText = "text/plain; charset=utf-8"

// isEmpty reports whether a body has no contact: senders may send X-Hook-Secret as their own credential
// with each request.
func isEmpty(body []byte) bool {
	text := string(bytes.TrimSpace(body))
	return text == "" || text == "{}"
}

// metaHandshake is that of Meta and of WebSub hubs
// (https://developers.facebook.com/docs/graph-api/webhooks/getting-started).
func metaHandshake(query url.Values, token string) (*Handshake, error) {
	challenge := query.Get("hub.challenge")
	shake := &Handshake{
		Sender: "Meta", ContentType: plainText, Body: challenge,
		Kept: "hub.mode=subscribe&hub.challenge=" + url.QueryEscape(challenge) + "&hub.verify_token=[redacted]",
	}
	if subtle.ConstantTimeCompare([]byte(query.Get("hub.verify_token")), []byte(token)) != 1 {
		return shake, fault.New(fault.Forbidden, "hub.verify_token is wrong. "+
			"Enter the last part of this address, which begins with cmi_, as the verify token.")
	}
	return shake, checkChallenge("hub.challenge", challenge)
}

// echoQuery is the handshake of a sender that expects a query parameter back.
func echoQuery(sender, parameter string, query url.Values) (*Handshake, error) {
	challenge := query.Get(parameter)
	if challenge == "" {
		return nil, nil
	}
	return &Handshake{
		Sender: sender, ContentType: plainText, Body: challenge, Kept: parameter + "=" + url.QueryEscape(challenge),
	}, checkChallenge(parameter, challenge)
}

// slackHandshake is that of Slack, and of monday.com, which sends nothing but the challenge. Of Slack's, the
// verification token is not stored.
func slackHandshake(body []byte) (*Handshake, error) {
	if !bytes.Contains(body, []byte(`"challenge"`)) {
		return nil, nil
	}
	var sent map[string]any
	if json.Unmarshal(wire.WithoutMark(body), &sent) != nil {
		return nil, nil //nolint:nilerr // Read says what is wrong
	}
	challenge, ok := sent["challenge"].(string)
	sender := "Slack"
	if sent["type"] != "url_verification" {
		sender, ok = "monday.com", ok && len(sent) == 1
	}
	if !ok {
		return nil, nil
	}
	echo, err := wire.AppendJSON(nil, map[string]string{"challenge": challenge})
	if err != nil {
		return nil, err
	}
	return &Handshake{Sender: sender, ContentType: "application/json", Body: string(echo), Kept: string(echo)},
		checkChallenge("challenge", challenge)
}

// checkChallenge refuses to echo what could be more than a challenge, such as a page.
func checkChallenge(name, challenge string) error {
	unprintable := func(r rune) bool { return r < ' ' || r > '~' }
	if challenge == "" || len(challenge) > maxChallenge || strings.ContainsFunc(challenge, unprintable) {
		return fault.InvalidParameters(fault.Fields{name: {
			Code:    fault.CodeInvalidValue,
			Message: "must have 1 to " + strconv.Itoa(maxChallenge) + " printable ASCII characters",
		}})
	}
	return nil
}
