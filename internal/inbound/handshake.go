package inbound

import (
	"bytes"
	"cmp"
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
// proves it by an echo, or by the MAC of a challenge.
type Handshake struct {
	Sender string // whose kind of handshake it is
	Kept   string // what may be stored of the request

	ContentType, Body string            // of the response; "" for none
	Header            map[string]string // of the response
}

// HandshakeOf returns the request as a handshake, nil if it is another request. body is nil unless the request is a
// POST. The error is a *fault.Error for a handshake with a wrong token or signature, or a challenge that must not be
// echoed.
func HandshakeOf(r *http.Request, webhook *Webhook, body []byte) (*Handshake, error) {
	if len(body) > maxHandshake {
		return nil, nil
	}
	if shake, err := webhook.macHandshake(r, body); shake != nil {
		return shake, err
	}
	switch r.Method {
	case http.MethodGet:
		return queryHandshake(r, webhook)
	case http.MethodOptions:
		if origin := r.Header.Get("WebHook-Request-Origin"); origin != "" {
			return cloudEventsHandshake(r, webhook, origin)
		}
	case http.MethodPost:
		if isEmpty(body) && r.Header.Get(headerHookSecret) != "" {
			secret := r.Header.Get(headerHookSecret)
			shake := &Handshake{
				Sender: "Asana", Kept: headerHookSecret + ": [redacted]",
				Header: map[string]string{headerHookSecret: secret}, ContentType: plainText, Body: "ok",
			}
			return shake, checkChallenge(headerHookSecret, secret)
		}
		if shake, err := echoQuery("Microsoft", "validationToken", r.URL.Query()); shake != nil {
			return shake, err
		}
		return bodyHandshake(r, body)
	}
	return nil, nil
}

// queryHandshake is that of senders that send a GET.
func queryHandshake(r *http.Request, webhook *Webhook) (*Handshake, error) {
	query := r.URL.Query()
	mode := query.Get("hub.mode")
	switch {
	case query.Get("hub.topic") != "" && !query.Has("hub.verify_token") && (mode == "subscribe" || mode == "unsubscribe"):
		return echoQuery("WebSub", "hub.challenge", query) // https://www.w3.org/TR/websub/#hub-verifies-intent
	case mode == "subscribe":
		return metaHandshake(query, webhook)
	case r.Header.Get(headerOkta) != "":
		challenge := r.Header.Get(headerOkta)
		return jsonEcho("Okta", headerOkta, challenge, headerOkta+": "+challenge, map[string]any{"verification": challenge})
	}
	return echoQuery("Dropbox", "challenge", query)
}

// headerOkta has the challenge of Okta
// (https://developer.okta.com/docs/concepts/event-hooks/#one-time-verification-request).
const headerOkta = "X-Okta-Verification-Challenge"

// cloudEventsHandshake allows the sender's origin
// (https://github.com/cloudevents/spec/blob/main/cloudevents/http-webhook.md#4-abuse-protection).
func cloudEventsHandshake(r *http.Request, webhook *Webhook, origin string) (*Handshake, error) {
	shake := &Handshake{
		Sender: "CloudEvents", Kept: "WebHook-Request-Origin: " + origin,
		Header: map[string]string{"WebHook-Allowed-Origin": origin},
	}
	if r.Header.Get("WebHook-Request-Rate") != "" {
		shake.Header["WebHook-Allowed-Rate"] = strconv.Itoa(cmp.Or(webhook.RateLimit, DefaultRateLimit))
	}
	return shake, checkChallenge("WebHook-Request-Origin", origin)
}

const plainText = "text/plain; charset=utf-8"

// isEmpty reports whether a body has no contact: senders may send X-Hook-Secret as their own credential
// with each request.
func isEmpty(body []byte) bool {
	text := string(bytes.TrimSpace(body))
	return text == "" || text == "{}"
}

// metaHandshake is that of Meta, and of Strava, which expects JSON
// (https://developers.facebook.com/docs/graph-api/webhooks/getting-started).
func metaHandshake(query url.Values, webhook *Webhook) (*Handshake, error) {
	challenge := query.Get("hub.challenge")
	shake := &Handshake{
		Sender: "Meta", ContentType: plainText, Body: challenge,
		Kept: "hub.mode=subscribe&hub.challenge=" + url.QueryEscape(challenge) + "&hub.verify_token=[redacted]",
	}
	if webhook.Verify.Scheme == "strava" { // https://developers.strava.com/docs/webhooks/
		echo, err := wire.AppendJSON(nil, map[string]string{"hub.challenge": challenge})
		if err != nil {
			return nil, err
		}
		shake.Sender, shake.ContentType, shake.Body = "Strava", asJSON, string(echo)
	}
	if subtle.ConstantTimeCompare([]byte(query.Get("hub.verify_token")), []byte(webhook.token)) != 1 {
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

const asJSON = "application/json"

// bodyHandshake is that of senders that post a challenge as JSON.
func bodyHandshake(r *http.Request, body []byte) (*Handshake, error) {
	if !bytes.Contains(body, []byte(`"challenge"`)) && !bytes.Contains(body, []byte(`"validationCode"`)) {
		return nil, nil
	}
	var sent map[string]any
	var events []struct {
		EventType string
		Data      struct{ ValidationCode string }
	}
	body = wire.WithoutMark(body)
	if json.Unmarshal(body, &events) == nil && len(events) == 1 &&
		events[0].EventType == "Microsoft.EventGrid.SubscriptionValidationEvent" {
		// https://learn.microsoft.com/en-us/azure/event-grid/end-point-validation-event-grid-events-schema
		code := events[0].Data.ValidationCode
		return jsonEcho("Event Grid", "validationCode", code, "validationCode: "+code,
			map[string]any{"validationResponse": code})
	}
	if json.Unmarshal(body, &sent) != nil {
		return nil, nil //nolint:nilerr // Read says what is wrong
	}
	challenge, ok := sent["challenge"].(string)
	if !ok {
		return nil, nil
	}
	return challengeHandshake(r.Header, sent, challenge)
}

// challengeHandshake is that of senders whose JSON has a challenge. Of Slack's, the verification token is not stored.
func challengeHandshake(header http.Header, sent map[string]any, challenge string) (*Handshake, error) {
	kept, err := wire.AppendJSON(nil, map[string]string{"challenge": challenge})
	if err != nil {
		return nil, err
	}
	echo := map[string]any{"challenge": challenge}
	_, hasSubscription := sent["subscription"].(map[string]any)
	switch {
	case sent["type"] == "url_verification":
		return jsonEcho("Slack", "challenge", challenge, string(kept), echo)
	case len(sent) == 1:
		return jsonEcho("monday.com", "challenge", challenge, string(kept), echo)
	case header.Get("Twitch-Eventsub-Message-Type") == "webhook_callback_verification", hasSubscription && len(sent) == 2:
		// https://dev.twitch.tv/docs/eventsub/handling-webhook-events/#responding-to-a-challenge-request
		return &Handshake{Sender: "Twitch", Kept: string(kept), ContentType: plainText, Body: challenge},
			checkChallenge("challenge", challenge)
	case header.Get("Smartsheet-Hook-Challenge") == challenge, sent["webhookId"] != nil && len(sent) == 2:
		// https://developers.smartsheet.com/api/smartsheet/guides/webhooks/webhook-verification
		shake, err := jsonEcho("Smartsheet", "challenge", challenge, string(kept),
			map[string]any{"smartsheetHookResponse": challenge})
		if err == nil {
			shake.Header = map[string]string{"Smartsheet-Hook-Response": challenge}
		}
		return shake, err
	}
	return nil, nil
}

// jsonEcho is a handshake whose response is JSON. name is that of the challenge, for an error.
func jsonEcho(sender, name, challenge, kept string, response map[string]any) (*Handshake, error) {
	echo, err := wire.AppendJSON(nil, response)
	if err != nil {
		return nil, err
	}
	return &Handshake{Sender: sender, ContentType: asJSON, Body: string(echo), Kept: kept}, checkChallenge(name, challenge)
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
