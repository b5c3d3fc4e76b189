package delivery

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"contactbase/internal/secret"
)

func TestSign(t *testing.T) {
	t.Parallel()
	// RFC 4231, test cases 2 and 6 in their order; the third is of openssl dgst -sha256 -hmac
	for _, c := range []struct{ secret, body, want string }{
		{"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"},
		{
			strings.Repeat("\xaa", 131), "Test Using Larger Than Block-Size Key - Hash Key First",
			"60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
		},
		{"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", `{"test": 2432232314}`, "80ec8a89ce3cd22133a1066caecb4d04fea7467657c8514d717ec42c38a5c94c"},
	} {
		if got := Sign(c.secret, []byte(c.body)); got != c.want {
			t.Errorf("Sign(%q, %q) = %s, want %s", c.secret, c.body, got, c.want)
		}
	}
}

func TestSignStandard(t *testing.T) {
	t.Parallel()
	// the example of the specification's own libraries
	const (
		plain = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
		id    = "msg_p5jXN8AQM9LWM0D4loKWxJek"
		body  = `{"test": 2432232314}`
		want  = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	)
	if got := SignStandard([]string{plain}, id, time.Unix(1614265330, 0), []byte(body)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestSignStandardVerifies(t *testing.T) {
	t.Parallel()
	body := []byte(`{"id":"evt_1"}`)
	now := time.Now()
	rotated := []string{secret.New(), secret.New()}
	for _, c := range []struct {
		what    string
		signing []string
		raw     []byte // the receiver's key; nil to let the library read the secret
		secret  string
	}{
		{"generated", rotated[:1], nil, rotated[0]},
		{"the new one during a rotation", rotated, nil, rotated[0]},
		{"the old one during a rotation", rotated, nil, rotated[1]},
		{"typed", []string{"correct horse"}, []byte("correct horse"), ""},
		{"typed with the prefix, but no base64", []string{"whsec_battery!"}, []byte("whsec_battery!"), ""},
		{"the prefix alone", []string{"whsec_"}, []byte("whsec_"), ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			verifier, err := standardwebhooks.NewWebhookRaw(c.raw)
			if c.raw == nil {
				verifier, err = standardwebhooks.NewWebhook(c.secret)
			}
			if err != nil {
				t.Fatal(err)
			}
			header := http.Header{}
			header.Set(standardwebhooks.HeaderWebhookID, "evt_1")
			header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
			header.Set(standardwebhooks.HeaderWebhookSignature, SignStandard(c.signing, "evt_1", now, body))
			if err := verifier.Verify(body, header); err != nil {
				t.Error(err)
			}
			header.Set(standardwebhooks.HeaderWebhookID, "evt_2")
			if verifier.Verify(body, header) == nil {
				t.Error("the signature fits another event, too")
			}
		})
	}
}
