package inbound

import (
	"bytes"
	"crypto/hmac"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"contactbase/internal/fault"
	"contactbase/internal/secret"
	"contactbase/internal/wire"
)

// signable matches the challenges whose MAC may be answered. Nothing that the three senders sign is such a text: their
// bodies are JSON objects, and the rest has a colon, a brace, or a prefix with an equals sign.
var signable = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}={0,2}$`)

// macHandshake is that of senders that expect the MAC of a challenge, nil if the request is not. Only the scheme of the
// sender allows it: otherwise, anyone could have texts signed with the secret.
func (w *Webhook) macHandshake(r *http.Request, body []byte) (*Handshake, error) {
	if w.Verify.Secret == "" {
		return nil, nil
	}
	name, challenge := "", ""
	var answer func(sum []byte) (sender string, response map[string]any)
	switch {
	case w.Verify.Scheme == "zoom" && r.Method == http.MethodPost:
		name, challenge = "plainToken", zoomToken(body)
		answer = func(sum []byte) (string, map[string]any) {
			return "Zoom", map[string]any{"plainToken": challenge, "encryptedToken": hex.EncodeToString(sum)}
		}
	case w.Verify.Scheme == "x" && r.Method == http.MethodGet:
		name, challenge = "crc_token", onlyQuery(r.URL.Query(), "crc_token", "nonce")
		answer = func(sum []byte) (string, map[string]any) {
			return "X", map[string]any{"response_token": "sha256=" + base64.StdEncoding.EncodeToString(sum)}
		}
	case w.Verify.Scheme == "linkedin" && r.Method == http.MethodGet:
		name, challenge = "challengeCode", onlyQuery(r.URL.Query(), "challengeCode", "applicationId")
		answer = func(sum []byte) (string, map[string]any) {
			return "LinkedIn", map[string]any{"challengeCode": challenge, "challengeResponse": hex.EncodeToString(sum)}
		}
	}
	if challenge == "" {
		return nil, nil
	}
	refused := &Handshake{Kept: name}
	if err := w.verifyHandshake(r, body); err != nil {
		return refused, err
	}
	if !signable.MatchString(challenge) {
		return refused, fault.InvalidParameters(fault.Fields{name: {
			Code: fault.CodeInvalidValue, Message: "must have 1 to 128 letters, digits, hyphens and underscores",
		}})
	}
	sender, response := answer(secret.HMAC([]byte(w.Verify.Secret), []byte(challenge)))
	return jsonEcho(sender, name, challenge, name+"="+challenge, response)
}

// verifyHandshake checks the signature of a handshake that has one. That of a GET covers the query.
func (w *Webhook) verifyHandshake(r *http.Request, body []byte) error {
	s := schemeNamed(w.Verify.Scheme)
	sent := r.Header.Get(s.header)
	switch {
	case sent == "":
		return nil
	case r.Method == http.MethodPost:
		_, err := VerifySignature(&w.Verify, &Signed{Header: r.Header, Body: body}, time.Now())
		return err
	}
	sum, err := s.decode(strings.TrimPrefix(sent, s.prefix))
	if err != nil || !hmac.Equal(sum, secret.HMAC([]byte(w.Verify.Secret), []byte(r.URL.RawQuery))) {
		return ErrBadSignature
	}
	return nil
}

// schemeNamed returns a scheme of one sender, an empty one if there is none of that name.
func schemeNamed(name string) *scheme {
	for i := range schemes {
		if schemes[i].name == name {
			return &schemes[i]
		}
	}
	return &scheme{}
}

// zoomToken returns the challenge in a body that has nothing else
// (https://developers.zoom.us/docs/api/webhooks/#validate-your-webhook-endpoint), "" if it is another body.
func zoomToken(body []byte) string {
	var sent struct {
		Event   string      `json:"event"`
		At      json.Number `json:"event_ts"`
		Payload struct {
			Token string `json:"plainToken"`
		} `json:"payload"`
	}
	dec := json.NewDecoder(bytes.NewReader(wire.WithoutMark(body)))
	dec.DisallowUnknownFields()
	if dec.Decode(&sent) != nil || dec.More() || sent.Event != "endpoint.url_validation" {
		return ""
	}
	return sent.Payload.Token
}

// onlyQuery returns a parameter of a query that has it once, and otherwise at most one other, "" without it.
func onlyQuery(query url.Values, name, other string) string {
	for key, values := range query {
		if key != name && key != other || len(values) != 1 {
			return ""
		}
	}
	return query.Get(name)
}
