package inbound

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestVerifySignature(t *testing.T) {
	t.Parallel()
	const (
		secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw" // the Standard Webhooks specification's example
		old    = "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD"
		typed  = "correct horse"
	)
	body := []byte(`{"email":"a@example.com"}`)
	now := time.Unix(1_769_424_000, 0)

	mac := func(key []byte, message string) []byte {
		h := hmac.New(sha256.New, key)
		h.Write([]byte(message))
		return h.Sum(nil)
	}
	hexOf := func(secret string) string { return hex.EncodeToString(mac([]byte(secret), string(body))) }
	standard := func(secret string, at time.Time) string {
		key := []byte(secret)
		if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
			key, _ = base64.StdEncoding.DecodeString(encoded)
		}
		sum := mac(key, "msg_1."+strconv.FormatInt(at.Unix(), 10)+"."+string(body))
		return "v1," + base64.StdEncoding.EncodeToString(sum)
	}
	signed := func(at time.Time, signature string) http.Header {
		return http.Header{
			"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {strconv.FormatInt(at.Unix(), 10)}, "Webhook-Signature": {signature},
		}
	}
	with := func(h http.Header, name, value string) http.Header {
		h = h.Clone()
		h.Set(name, value)
		return h
	}
	only := func(value string) http.Header { return http.Header{"X-Signature": {value}} }

	tests := []struct {
		name   string
		secret string
		header http.Header
		want   error
	}{
		{"nothing", secret, http.Header{}, ErrNoSignature},
		{"an id alone", secret, http.Header{"Webhook-Id": {"msg_1"}}, ErrNoSignature},
		{"X-Signature of another secret", secret, only(hexOf(old)), ErrBadSignature},
		{"X-Signature that is not hex", secret, only("!"), ErrBadSignature},
		{"X-Signature cut off", secret, only(hexOf(secret)[:32]), ErrBadSignature},
		{"X-Signature", secret, only(hexOf(secret)), nil},
		{"X-Signature in upper case", secret, only(strings.ToUpper(hexOf(secret))), nil},
		{"X-Signature as GitHub writes it", typed, only("sha256=" + hexOf(typed)), nil},

		{"another secret", secret, signed(now, standard(old, now)), ErrBadSignature},
		{"another version", secret, signed(now, strings.Replace(standard(secret, now), "v1", "v2", 1)), ErrBadSignature},
		{"no timestamp", secret, with(signed(now, standard(secret, now)), "Webhook-Timestamp", ""), ErrBadSignature},
		{"another timestamp", secret, with(signed(now, standard(secret, now)), "Webhook-Timestamp", "1769424001"), ErrBadSignature},
		{"an invalid timestamp", secret, with(signed(now, standard(secret, now)), "Webhook-Timestamp", "today"), ErrBadSignature},
		{"another id", secret, with(signed(now, standard(secret, now)), "Webhook-Id", "msg_2"), ErrBadSignature},
		{"too old", secret, signed(now.Add(-5*time.Minute-time.Second), standard(secret, now.Add(-5*time.Minute-time.Second))), ErrStale},
		{"too new", secret, signed(now.Add(5*time.Minute+time.Second), standard(secret, now.Add(5*time.Minute+time.Second))), ErrStale},
		{"just old enough", secret, signed(now.Add(-5*time.Minute), standard(secret, now.Add(-5*time.Minute))), nil},
		{"Standard Webhooks", secret, signed(now, standard(secret, now)), nil},
		{"one of several", secret, signed(now, "v1a,AAAA "+standard(old, now)+" "+standard(secret, now)), nil},
		{"a custom secret", typed, signed(now, standard(typed, now)), nil},

		{"rotated at the sender: the old secret still verifies", old,
			with(signed(now, standard(secret, now)+" "+standard(old, now)), "X-Signature", hexOf(secret)), nil},
		{"a good X-Signature does not save a bad webhook-signature", secret,
			with(signed(now, standard(old, now)), "X-Signature", hexOf(secret)), ErrBadSignature},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if _, err := VerifySignature(&Verification{Secret: tt.secret}, &Signed{Header: tt.header, Body: body}, now); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
			if tt.want == nil {
				longer := &Signed{Header: tt.header, Body: slices.Concat(body, []byte(" "))}
				if _, err := VerifySignature(&Verification{Secret: tt.secret}, longer, now); !errors.Is(err, ErrBadSignature) {
					t.Errorf("a changed body: got %v", err)
				}
			}
		})
	}
}
