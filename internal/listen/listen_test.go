package listen_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"contactbase/internal/delivery"
	"contactbase/internal/listen"
	"contactbase/internal/safehttp"
)

// installation answers requests for the feed, one after the other.
func installation(t *testing.T, answers ...http.HandlerFunc) *listen.Feed {
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-API-Key") != "a key" || r.URL.Path != "/api/ext/v1/events" {
			t.Errorf("the request is %s with %v", r.URL, r.Header)
		}
		answers[min(int(calls.Add(1)), len(answers))-1](w, r)
	}))
	t.Cleanup(server.Close)
	return &listen.Feed{URL: server.URL, Key: "a key", Client: server.Client()}
}

// page answers with events and the cursor after them.
func page(cursor string, ids ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		body := ""
		for i, id := range ids {
			if i > 0 {
				body += ","
			}
			body += fmt.Sprintf(`{"id":"evt_%s","type":"contact.created","data":{}}`, id)
		}
		fmt.Fprintf(w, `{"data":[%s],"cursor":%q}`, body, cursor)
	}
}

func refusal(status int, code, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"code":%q,"message":%q}}`, code, message)
	}
}

// Each event of the feed is posted once, signed, whatever the receiver answers. The cursor follows.
func TestListen(t *testing.T) {
	t.Parallel()
	secret := listen.Secret("a key")
	if secret != listen.Secret("a key") || secret == listen.Secret("another key") {
		t.Error("the secret is not that of the key")
	}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.Header.Get("X-Signature") != delivery.Sign(secret, body) {
			t.Errorf("%s is not signed", body)
		}
		w.WriteHeader(http.StatusTeapot)
	}))
	t.Cleanup(receiver.Close)
	ctx, cancel := context.WithCancel(t.Context())
	var printed strings.Builder
	r := &listen.Run{
		URL: installation(t, page("c2", "1", "2"), page("c2"), page("c3", "3")).URL, Key: "a key", Forward: receiver.URL, From: "c1",
		Sender: delivery.NewSender(safehttp.New(safehttp.Options{AllowPrivate: true}), "test"),
		File:   listen.CursorFile(filepath.Join(t.TempDir(), "cursor")),
		Out: writer(func(text string) {
			if printed.WriteString(text); strings.Contains(text, "evt_3") {
				cancel()
			}
		}),
	}
	err := r.Listen(ctx)
	forwarded := regexp.MustCompile("evt_.  418").FindAllString(printed.String(), -1)
	if cursor, _ := r.File.Read(); err != nil || !slices.Equal(forwarded, []string{"evt_1  418", "evt_2  418", "evt_3  418"}) || cursor != "evt_3" {
		t.Errorf("it prints %s up to %s, %v", &printed, cursor, err)
	}
}

// writer passes on what is written.
type writer func(text string)

func (w writer) Write(p []byte) (int, error) {
	w(string(p))
	return len(p), nil
}

// An error that may pass is reported and retried; any other ends the listener with the installation's message.
func TestNextRetries(t *testing.T) {
	t.Parallel()
	feed := installation(t, refusal(http.StatusServiceUnavailable, "unavailable", "Try again."), page("c2", "1"))
	var troubles []error
	got, err := feed.Next(t.Context(), "c1", func(err error) { troubles = append(troubles, err) })
	if err != nil || got.Cursor != "c2" || len(got.Data) != 1 || len(troubles) != 1 || troubles[0].Error() != "Try again. (unavailable)" {
		t.Errorf("got %+v, %v after %v", got, err, troubles)
	}
	for code, status := range map[string]int{"invalid_api_key": http.StatusUnauthorized, "cursor_expired": http.StatusGone} {
		_, err = installation(t, refusal(status, code, "No.")).Next(t.Context(), "c1", func(err error) { t.Errorf("%v is retried", err) })
		var refused *listen.Error
		if !errors.As(err, &refused) || refused.Code != code || refused.Status != status {
			t.Errorf("%s gives %v", code, err)
		}
	}
}

// An address that is not an installation is named as such.
func TestNowElsewhere(t *testing.T) {
	t.Parallel()
	if cursor, err := installation(t, page("c9")).Now(t.Context()); cursor != "c9" || err != nil {
		t.Errorf("got %s, %v", cursor, err)
	}
	elsewhere := installation(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	if cursor, err := elsewhere.Now(t.Context()); err == nil || cursor != "" {
		t.Errorf("got %s, %v", cursor, err)
	}
}

func TestCursorFile(t *testing.T) {
	t.Parallel()
	file := listen.CursorFile(filepath.Join(t.TempDir(), "folder", "cursor"))
	if cursor, err := file.Read(); cursor != "" || err != nil {
		t.Errorf("without a file: %q, %v", cursor, err)
	}
	for _, want := range []string{"evt_1", "evt_2"} {
		if err := file.Write(want); err != nil {
			t.Fatal(err)
		}
		if cursor, err := file.Read(); cursor != want || err != nil {
			t.Errorf("got %q, %v", cursor, err)
		}
	}
}
