package routes

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/fault"
	"contactbase/internal/replica"
	"contactbase/routes/route"
)

// failing is a replica that fails as a test wants. The one of a server is tested with a real store in e2e.
type failing struct {
	route.Replica
	before, after, acknowledge error // of the first call of Holds, of later ones, and of Acknowledge
	held, acknowledged         int   // calls of Holds and of Acknowledge
}

func (f *failing) Holds() error {
	f.held++
	if f.held == 1 {
		return f.before
	}
	return f.after
}

func (f *failing) Acknowledge(context.Context) error {
	f.acknowledged++
	return f.acknowledge
}

func (f *failing) NewestVisibleEvent(context.Context) (*string, error) { return nil, f.acknowledge }

// A response that reports stored data is sent once the replica has that data. Nothing of a refused one is sent.
func TestResponsesWaitForTheReplica(t *testing.T) {
	t.Parallel()
	const path = apiPrefix + "/contacts"
	lost := errors.New("the store does not answer")
	succeed := func(e *core.RequestEvent) error {
		e.Response.Header().Set("ETag", `"1"`)
		e.Response.Header().Set("Location", path)
		return e.JSON(http.StatusCreated, map[string]string{"id": "stored"})
	}
	stream := func(e *core.RequestEvent) error {
		if err := http.NewResponseController(e.Response).Flush(); err != nil {
			return err
		}
		_, err := io.WriteString(e.Response, "stored")
		return err
	}
	fail := func(code fault.Code) func(e *core.RequestEvent) error {
		return func(*core.RequestEvent) error { return fault.New(code, "as the test wants") }
	}
	for _, c := range []struct {
		name, method string
		replica      *failing
		handle       func(e *core.RequestEvent) error
		want         int
		code         fault.Code // "" for the response of the handler
	}{
		{"a write", "POST", &failing{}, succeed, 201, ""},
		{"a stream of writes", "POST", &failing{}, stream, 200, ""},
		{"a write that the replica does not have", "POST", &failing{acknowledge: lost}, succeed, 503, fault.Unreplicated},
		{"a stream of writes that the replica does not have", "POST", &failing{acknowledge: lost}, stream, 503, fault.Unreplicated},
		{"a condition that the stored version fails", "PATCH", &failing{acknowledge: lost}, fail(fault.PreconditionFailed), 503, fault.Unreplicated},
		{"a contact that is not there", "DELETE", &failing{acknowledge: lost}, fail(fault.NotFound), 503, fault.Unreplicated},
		{"an error without stored data", "POST", &failing{acknowledge: lost}, fail(fault.RateLimited), 429, fault.RateLimited},
		{"a key that may not write", "POST", &failing{acknowledge: lost}, fail(fault.Forbidden), 403, fault.Forbidden},
		{"a failure", "POST", &failing{acknowledge: lost}, fail(fault.Internal), 500, fault.Internal},
		{"a read", "GET", &failing{acknowledge: lost}, succeed, 201, ""},
		{"a read beside a takeover", "GET", &failing{after: replica.ErrFenced}, succeed, 503, fault.Standby},
		{"a HEAD beside a takeover", "HEAD", &failing{after: replica.ErrFenced}, succeed, 503, ""},
		{"a stream beside a takeover", "GET", &failing{after: replica.ErrFenced}, stream, 503, fault.Standby},
		{"a write after a takeover", "POST", &failing{before: replica.ErrFenced}, nil, 503, fault.Standby},
		{"a read after a takeover", "GET", &failing{before: replica.ErrFenced}, nil, 503, fault.Standby},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := &server{
				Config: route.Config{Replica: c.replica, ReadOnly: func() bool { return false }},
				drain:  &drain{empty: make(chan struct{})},
			}
			r := router.NewRouter(func(w http.ResponseWriter, request *http.Request) (*core.RequestEvent, router.EventCleanupFunc) {
				return &core.RequestEvent{Event: router.Event{Response: w, Request: request}}, nil
			})
			r.Bind(s.request())
			r.Route(c.method, path, c.handle)
			served, err := r.BuildMux()
			if err != nil {
				t.Fatal(err)
			}
			got := httptest.NewRecorder()
			served.ServeHTTP(got, httptest.NewRequestWithContext(t.Context(), c.method, path, nil))
			if got.Code != c.want || !strings.Contains(got.Body.String(), string(c.code)) {
				t.Errorf("got %d %s", got.Code, got.Body)
			}
			if c.replica.acknowledged > 1 {
				t.Errorf("it was acknowledged %d times", c.replica.acknowledged)
			}
			for _, name := range []string{"ETag", "Location"} {
				if c.want >= 400 && got.Header().Get(name) != "" {
					t.Errorf("the error has the header %s of the success", name)
				}
			}
			if c.want >= 400 && strings.Contains(got.Body.String(), "stored") {
				t.Errorf("the error has the body of the success: %s", got.Body)
			}
		})
	}
}

// Readers of events see none that a takeover may undo, and learn whether to ask another machine.
func TestVisibleEventsNeedTheReplica(t *testing.T) {
	t.Parallel()
	if newest, err := newestVisibleEvent(t.Context(), nil); newest != nil || err != nil {
		t.Errorf("without a replica: %v, %v", newest, err)
	}
	for cause, want := range map[error]fault.Code{replica.ErrFenced: fault.Standby, context.DeadlineExceeded: fault.Unreplicated} {
		_, err := newestVisibleEvent(t.Context(), &failing{acknowledge: cause})
		var got *fault.Error
		if !errors.As(err, &got) || got.Code != want {
			t.Errorf("%v is %v", cause, err)
		}
	}
}
