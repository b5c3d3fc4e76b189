package routes_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
)

const repeatsSecret = "a secret of more than 16 bytes"

// signHex returns the hex of the HMAC-SHA256.
func signHex(content string) string {
	sum, err := base64.StdEncoding.DecodeString(sign(repeatsSecret, content))
	if err != nil {
		panic(err)
	}
	return hex.EncodeToString(sum)
}

var unix = func() string { return strconv.FormatInt(time.Now().Unix(), 10) }

// signings return the headers of a signed request, with its id where that is signed or the sender's own, by the scheme
// and its variants.
var signings = map[string]func(s *sender, body, id string) []string{
	"standard":       signStandard("webhook"),
	"standard, svix": signStandard("svix"),
	"x-signature": func(_ *sender, body, id string) []string {
		return []string{"X-Signature", signHex(body), "webhook-id", id}
	},
	"x-signature, key": func(_ *sender, body, id string) []string {
		return []string{"X-Signature", signHex(body), "Idempotency-Key", id}
	},
	"x-signature, no id": func(_ *sender, body, _ string) []string { return []string{"X-Signature", signHex(body)} },
	"shopify": func(_ *sender, body, id string) []string {
		return []string{"X-Shopify-Hmac-Sha256", sign(repeatsSecret, body), "X-Shopify-Webhook-Id", id}
	},
	"woocommerce": func(_ *sender, body, id string) []string {
		return []string{"X-WC-Webhook-Signature", sign(repeatsSecret, body), "X-WC-Webhook-Delivery-ID", id}
	},
	"typeform": func(_ *sender, body, _ string) []string {
		return []string{"Typeform-Signature", "sha256=" + sign(repeatsSecret, body)}
	},
	"tally": func(_ *sender, body, _ string) []string {
		return []string{"Tally-Signature", sign(repeatsSecret, body)}
	},
	"calendly": func(_ *sender, body, id string) []string {
		at := unix()
		return []string{"Calendly-Webhook-Signature", "t=" + at + ",v1=" + signHex(at+"."+body), "webhook-id", id}
	},
	"stripe": func(_ *sender, body, _ string) []string {
		at := unix()
		return []string{"Stripe-Signature", "t=" + at + ",v1=" + signHex(at+"."+body)}
	},
	"github": func(_ *sender, body, id string) []string {
		return []string{"X-Hub-Signature-256", "sha256=" + signHex(body), "X-GitHub-Delivery", id}
	},
	"hubspot": func(s *sender, body, id string) []string {
		at := strconv.FormatInt(time.Now().UnixMilli(), 10)
		return []string{
			"X-HubSpot-Request-Timestamp", at, "webhook-id", id,
			"X-HubSpot-Signature-v3", sign(repeatsSecret, "POST"+"https://crm.example.com"+s.path+body+at),
		}
	},
	"":       signStandard("webhook"),
	", svix": signStandard("svix"),
	", x-signature": func(_ *sender, body, id string) []string {
		return []string{"X-Signature", signHex(body), "webhook-id", id}
	},
	", both": func(s *sender, body, id string) []string {
		return append(signStandard("webhook")(s, body, id), "X-Signature", signHex(body))
	},
}

func signStandard(prefix string) func(s *sender, body, id string) []string {
	return func(_ *sender, body, id string) []string {
		at := unix()
		return []string{prefix + "-id", id, prefix + "-timestamp", at,
			prefix + "-signature", "v1," + sign(repeatsSecret, id+"."+at+"."+body)}
	}
}

// newSigner returns a sender that signs by a scheme, and a function that sends a contact's name in the request with an
// id. It has the properties in which senders name their events.
func newSigner(
	t *testing.T, f *fixture, variant string,
) (*sender, func(id, name string) (body string, header []string)) {
	t.Helper()
	scheme, _, _ := strings.Cut(variant, ",")
	s := newSender(t, f, "upsert", map[string]any{"verifySecret": repeatsSecret, "verifyScheme": scheme})
	return s, func(id, name string) (string, []string) {
		body := fmt.Sprintf(`{"id":%q,"event_id":%q,"eventId":%q,"email":"%s@example.com","name":%q}`, id, id, id,
			"ada"+strings.TrimPrefix(s.path, "/api/hooks/")[:12], name)
		return body, signings[variant](s, body, id)
	}
}

// forgeries returns what somebody who has recorded a request can make of its headers without the secret.
func forgeries(header []string) (forged [][]string) {
	for _, name := range []string{
		"webhook-id", "svix-id", "Idempotency-Key", "X-Shopify-Webhook-Id", "X-WC-Webhook-Delivery-ID", "X-GitHub-Delivery",
	} {
		if at := slices.Index(header, name); at >= 0 {
			forged = append(forged, slices.Delete(slices.Clone(header), at, at+2))
			header := slices.Clone(header)
			header[at+1] = "another"
			forged = append(forged, header)
		} else {
			forged = append(forged, append([]string{name, "another"}, header...))
		}
	}
	if at := slices.Index(header, "webhook-signature"); at >= 0 && slices.Contains(header, "X-Signature") {
		rest := slices.Delete(slices.Clone(header), at, at+2)
		rest[slices.Index(rest, "webhook-id")+1] = "another"
		forged = append(forged, rest)
	}
	return forged
}

// A recorded request with other headers does nothing: it gets the first answer again, or its signature no longer
// matches. What was changed since stays.
func TestRecordedRequests(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	settings := f.App.Settings()
	settings.Meta.AppURL = "https://crm.example.com"
	if err := f.App.Save(settings); err != nil {
		t.Fatal(err)
	}
	for variant := range signings {
		t.Run(variant, func(t *testing.T) {
			t.Parallel()
			s, request := newSigner(t, f, variant)
			recorded, header := request("one", "Old")
			first := s.expect("created:1", recorded, header...)
			newer, newerHeader := request("two", "New")
			s.expect("updated:1", newer, newerHeader...)
			for _, forged := range append(forgeries(header), header) {
				if strings.HasSuffix(variant, "no id") && !slices.Contains(forged, "webhook-id") &&
					!slices.Contains(forged, "Idempotency-Key") {
					continue // a sender without ids may mean it
				}
				got := s.Do("POST", s.path, recorded, forged...)
				if got.Code() == "invalid_signature" && strings.Contains(strings.Join(forged, " "), "-timestamp") {
					continue
				}
				if got.Status != 200 || got.Header.Get("Idempotency-Replayed") != "true" || string(got.Body) != string(first.Body) {
					t.Errorf("with %q it gets %d %s", forged, got.Status, got.Body)
				}
			}
			names, err := f.App.FindRecordsByFilter("contacts", "email ~ {:email}", "", 0, 0,
				map[string]any{"email": strings.TrimPrefix(s.path, "/api/hooks/")[:12]})
			if err != nil || len(names) != 1 || names[0].GetString("name") != "New" {
				t.Errorf("the contact is %v (%v)", names, err)
			}
		})
	}
}

// Recorded requests that come at once, each with another id, are one request.
func TestRecordedRequestsAtOnce(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s, request := newSigner(t, f, "x-signature")
	recorded, header := request("one", "Old")
	all := append(forgeries(header), header)
	var sent sync.WaitGroup
	for _, forged := range all {
		sent.Go(func() {
			if got := s.Do("POST", s.path, recorded, forged...); got.Status != 200 && got.Status != 409 {
				t.Errorf("it gets %d %s", got.Status, got.Body)
			}
		})
	}
	sent.Wait()
	if applied, err := f.App.CountRecords("inbound_requests", dbx.HashExp{"status": 200}); err != nil || applied != 1 {
		t.Errorf("%d of %d requests are applied (%v)", applied, len(all), err)
	}
}

// The same event with another id of its own is a repeat only where nothing signs the id.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	for variant, want := range map[string]string{
		"standard": "unchanged:1", ", both": "unchanged:1", "x-signature": "created:1", "x-signature, no id": "unchanged:1",
	} {
		s, _ := newSigner(t, f, variant)
		body := `{"name":"Ada","email":"` + "ada" + strings.TrimPrefix(s.path, "/api/hooks/")[:12] + `@example.com"}`
		s.expect("created:1", body, signings[variant](s, body, "one")...)
		s.expect(want, body, signings[variant](s, body, "two")...)
	}
}
