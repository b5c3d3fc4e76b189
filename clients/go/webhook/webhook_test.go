package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	contactbase "contactbase/clients/go"
	"contactbase/clients/go/webhook"
)

// The example of the guide Verify signatures.
const (
	secret    = "whsec_Y29udGFjdGJhc2UtZXhhbXBsZS1zZWNyZXQtMzItYnk="
	id        = "evt_4k9x0m2q7w8e1rt"
	timestamp = 1772641211
	signature = "v1,Twql1fgt/NZKh9ht3lqTEI88dAhkrl8FByOKVHe0YbI="
	body      = `{"id":"evt_4k9x0m2q7w8e1rt","type":"contact.created","timestamp":"2026-03-04T16:20:11.087Z","data":{"id":"0mm8yqpxck3w9xa","name":"Zoë"}}`
)

func sign(key string, at int64) string {
	mac := hmac.New(sha256.New, []byte(key))
	fmt.Fprintf(mac, "%s.%d.%s", id, at, body)
	return "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

func headers(at any, signature string) http.Header {
	header := http.Header{}
	header.Set("webhook-id", id)
	header.Set("webhook-timestamp", fmt.Sprint(at))
	header.Set("webhook-signature", signature)
	return header
}

func without(name string) http.Header {
	header := headers(timestamp, signature)
	header.Del(name)
	return header
}

func TestVerify(t *testing.T) {
	t.Parallel()
	const other = "v1,AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(time.Until(time.Unix(timestamp, 0))) // the clock is the test's own, and begins in the year 2000
		for _, c := range []struct {
			what    string
			body    string
			headers http.Header
			secret  string
			ok      bool
		}{
			{"as sent", body, headers(timestamp, signature), secret, true},
			{"the second during a rotation", body, headers(timestamp, other+" "+signature), secret, true},
			{"another version beside it", body, headers(timestamp, "v2,abc "+signature), secret, true},
			{"a secret that somebody typed", body, headers(timestamp, sign("correct horse", timestamp)), "correct horse", true},
			{"typed with the prefix", body, headers(timestamp, sign("whsec_horse!", timestamp)), "whsec_horse!", true},
			{"the prefix alone", body, headers(timestamp, sign("whsec_", timestamp)), "whsec_", true},
			{"five minutes old", body, headers(timestamp-300, sign("horse", timestamp-300)), "horse", true},
			{"older", body, headers(timestamp-301, sign("horse", timestamp-301)), "horse", false},
			{"of the future", body, headers(timestamp+301, sign("horse", timestamp+301)), "horse", false},
			{"another time", body, headers(timestamp+1, signature), secret, false},
			{"no time", body, headers("soon", signature), secret, false},
			{"another body", body + " ", headers(timestamp, signature), secret, false},
			{"another secret", body, headers(timestamp, signature), "whsec_" + base64.StdEncoding.EncodeToString([]byte("other")), false},
			{"another signature", body, headers(timestamp, other), secret, false},
			{"another version", body, headers(timestamp, "v2"+signature[2:]), secret, false},
			{"half a signature", body, headers(timestamp, signature[:20]), secret, false},
			{"no id", body, without("webhook-id"), secret, false},
			{"no timestamp", body, without("webhook-timestamp"), secret, false},
			{"no signature", body, without("webhook-signature"), secret, false},
		} {
			event, err := webhook.Verify([]byte(c.body), c.headers, c.secret)
			if c.ok {
				if created, isCreated := event.(contactbase.ContactCreated); err != nil || !isCreated || created.Contact.Name != "Zoë" {
					t.Errorf("%s: %+v, %v", c.what, event, err)
				}
			} else if !errors.Is(err, webhook.ErrNotVerified) || event != nil {
				t.Errorf("%s: %+v, %v", c.what, event, err)
			}
		}
	})
}

// A secret that was forgotten lets nobody in.
func TestNoSecret(t *testing.T) {
	t.Parallel()
	now := time.Now().Unix()
	if event, err := webhook.Verify([]byte(body), headers(now, sign("", now)), ""); err == nil {
		t.Errorf("%+v", event)
	}
}
