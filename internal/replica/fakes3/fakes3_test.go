package fakes3_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"contactbase/internal/replica/fakes3"
	"contactbase/internal/replica/store"
)

func open(t *testing.T, fake *fakes3.Store) store.Store {
	t.Helper()
	t.Cleanup(fake.Close)
	opened, err := store.Open(fake.URL("folder"), store.Credentials{Key: "key", Secret: "secret"})
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

func put(t *testing.T, s store.Store, name string) error {
	t.Helper()
	_, err := s.Put(t.Context(), name, strings.NewReader("content"))
	return err
}

// A store adds faults, also in front of another one.
func TestFaults(t *testing.T) {
	t.Parallel()
	behind := fakes3.New()
	direct := open(t, behind)
	endpoint, err := url.Parse(behind.Endpoint())
	if err != nil {
		t.Fatal(err)
	}
	fake := fakes3.InFrontOf(endpoint)
	faulty := open(t, fake)
	if err := put(t, faulty, "a"); err != nil || fake.Puts() != 1 {
		t.Fatalf("%d requests (%v)", fake.Puts(), err)
	}
	if content, _, err := direct.Read(t.Context(), "a"); err != nil || string(content) != "content" {
		t.Errorf("the store behind has %q (%v)", content, err)
	}
	fake.SetAway(true)
	if put(t, faulty, "b") == nil {
		t.Error("an unavailable store accepts an object")
	}
	fake.SetAway(false)
	fake.Break(func(w http.ResponseWriter, _ *http.Request, _ http.Handler) bool {
		http.Error(w, "broken", http.StatusInternalServerError)
		return true
	})
	if put(t, faulty, "b") == nil {
		t.Error("a broken store accepts an object")
	}
	fake.Break(nil)
	if err := put(t, faulty, "b"); err != nil {
		t.Error(err)
	}
}

// Held and stalled requests wait.
func TestWaitingRequests(t *testing.T) {
	t.Parallel()
	fake := fakes3.New()
	s := open(t, fake)
	reached, release := fake.Hold(func(r *http.Request) bool { return strings.HasSuffix(r.URL.Path, "/held") })
	done := make(chan error, 1)
	go func() { done <- put(t, s, "held") }()
	<-reached
	if err := put(t, s, "other"); err != nil {
		t.Error(err)
	}
	release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	fake.Stall()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Read(ctx, "held"); err == nil {
		t.Error("a stalled store responds")
	}
	go func() { done <- put(t, s, "stalled") }()
	fake.Resume()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
