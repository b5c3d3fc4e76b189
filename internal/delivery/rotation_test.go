package delivery_test

import (
	"database/sql"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"contactbase/internal/delivery"
	"contactbase/internal/fault"
	"contactbase/internal/secret"
	"contactbase/internal/stamp"
	"contactbase/internal/testkit"
	"contactbase/internal/webhook"
)

// rotating is a webhook whose secret is rotated, with a receiver.
type rotating struct {
	t       *testing.T
	app     core.App
	id      string
	headers http.Header // of the last request
	secrets []string    // all that it had, the current one last
}

func newRotating(t *testing.T) *rotating {
	t.Helper()
	r := &rotating{t: t, app: testkit.NewApp(t), secrets: []string{secret.New()}}
	url := receiver(t, func(_ http.ResponseWriter, request *http.Request) { r.headers = request.Header })
	r.id = testkit.Webhook(t, r.app, testkit.Tenant(t, r.app, "Acme"), url, r.secrets[0])
	return r
}

func (r *rotating) rotate(overlapHours int, at time.Time) {
	r.t.Helper()
	plain, err := webhook.RotateSecret(r.app, r.id, overlapHours, at)
	if err != nil {
		r.t.Fatal(err)
	}
	r.secrets = append(r.secrets, plain)
}

// expect checks which secrets sign a request, by their numbers.
func (r *rotating) expect(what string, want ...int) {
	r.t.Helper()
	attempt, err := delivery.Ping(r.t.Context(), testkit.Deliveries(r.app), sender(), r.id)
	if err != nil || !attempt.Outcome.Success() {
		r.t.Fatalf("%s: %+v, %v", what, attempt, err)
	}
	var body string
	err = r.app.DB().NewQuery("SELECT e.payload FROM deliveries d JOIN events e ON e.id = d.event WHERE d.id = {:id}").
		Bind(dbx.Params{"id": attempt.DeliveryID}).Row(&body)
	if err != nil {
		r.t.Fatal(err)
	}
	var signing []int
	for i, plain := range r.secrets {
		verifier, err := standardwebhooks.NewWebhook(plain)
		if err != nil {
			r.t.Fatal(err)
		}
		if verifier.VerifyIgnoringTimestamp([]byte(body), r.headers) == nil {
			signing = append(signing, i)
		}
	}
	if !slices.Equal(signing, want) || len(strings.Fields(r.headers.Get("Webhook-Signature"))) != len(want) {
		r.t.Errorf("%s: the secrets %v sign, not %v", what, signing, want)
	}
	if r.headers.Get("X-Signature") != delivery.Sign(r.secrets[len(r.secrets)-1], []byte(body)) {
		r.t.Errorf("%s: X-Signature should use the new secret", what)
	}
}

func TestRotateSecret(t *testing.T) {
	t.Parallel()
	r := newRotating(t)
	r.rotate(webhook.OverlapHours, time.Now())
	r.expect("after a rotation", 0, 1)
	testkit.Execute(t, r.app, "UPDATE webhooks SET previousSecretUntil = {:at}", dbx.Params{"at": stamp.Stored(time.Now().Add(-time.Second))})
	r.expect("after 24 hours", 1)
	if _, err := webhook.RotateSecret(r.app, "nothing", 0, time.Now()); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("unknown: got %v", err)
	}
}

// Each secret signs as long as its rotation promised, however often the secret is rotated meanwhile.
func TestRotateSecretAgain(t *testing.T) {
	t.Parallel()
	r, now := newRotating(t), time.Now()
	for _, hours := range []int{-23, -12, -6, -1} {
		r.rotate(webhook.OverlapHours, now.Add(time.Duration(hours)*time.Hour))
	}
	r.expect("after four rotations in 24 hours", 0, 1, 2, 3, 4)
	_, err := webhook.RotateSecret(r.app, r.id, 1, now)
	var refused *fault.Error
	if !errors.As(err, &refused) || refused.Code != fault.TooManyRotations || !strings.Contains(refused.Message, stamp.Shown(now.Add(time.Hour))) {
		t.Errorf("the fifth rotation gives %v", err)
	}
	r.expect("after a refused rotation", 0, 1, 2, 3, 4)
	r.rotate(webhook.OverlapHours, now.Add(time.Hour))
	r.expect("after the first one has ended", 1, 2, 3, 4, 5)
	r.rotate(0, now)
	r.expect("without an overlap", 6)
	r.rotate(1, now)
	r.rotate(webhook.OverlapHours, now.Add(-25*time.Hour))
	r.expect("with overlaps of their own", 6, 8)
}

// A webhook of a version that kept one old secret keeps it.
func TestRotateSecretOfOlderVersion(t *testing.T) {
	t.Parallel()
	r := newRotating(t)
	r.secrets = slices.Insert(r.secrets, 0, secret.New())
	testkit.Execute(t, r.app, "UPDATE webhooks SET previousSecret = {:secret}, previousSecretUntil = {:at}, olderSecrets = ''",
		dbx.Params{"secret": r.secrets[0], "at": stamp.Stored(time.Now().Add(time.Hour))})
	r.expect("before a rotation", 0, 1)
	r.rotate(webhook.OverlapHours, time.Now())
	r.expect("after a rotation", 0, 1, 2)
}

// A secret that somebody typed signs with its own bytes, however often it is rotated.
func TestRotateTypedSecret(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	const typed = "not UTF-8: \xff\xfe <>&"
	var signs bool
	url := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		seconds, wrong := strconv.ParseInt(r.Header.Get("Webhook-Timestamp"), 10, 64)
		if err = errors.Join(err, wrong); err != nil {
			t.Error(err)
		}
		want := delivery.SignStandard([]string{typed}, r.Header.Get("Webhook-Id"), time.Unix(seconds, 0), body)
		signs = slices.Contains(strings.Fields(r.Header.Get("Webhook-Signature")), want)
	})
	id := testkit.Webhook(t, app, testkit.Tenant(t, app, "Acme"), url, typed)
	for i := range 4 {
		if _, err := webhook.RotateSecret(app, id, webhook.OverlapHours, time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := delivery.Ping(t.Context(), testkit.Deliveries(app), sender(), id); err != nil || !signs {
			t.Errorf("after rotation %d, the typed secret does not sign (%v)", i+1, err)
		}
	}
}
