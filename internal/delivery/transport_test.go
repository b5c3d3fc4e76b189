package delivery_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"testing"

	"contactbase/internal/delivery"
)

// pigeons is a transport of its own scheme.
type pigeons struct {
	fly func(ctx context.Context, job *delivery.Job, header http.Header) error
}

func (pigeons) CheckURL(target *url.URL) error {
	if target.Opaque == "" {
		return errors.New("must name a loft")
	}
	return nil
}

func (p pigeons) Deliver(ctx context.Context, job *delivery.Job, header http.Header) error {
	return p.fly(ctx, job, header)
}

// The transport of a URL's scheme gets what a request would carry, and decides about the attempt.
func TestTransportOfAScheme(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		err    error
		status int
		fault  string
	}{
		"taken":   {nil, http.StatusNoContent, ""},
		"refused": {errors.New("the loft is full"), 0, "the loft is full"},
	} {
		sender, carried := sender(), 0
		sender.Handle("pigeon", pigeons{func(_ context.Context, job *delivery.Job, header http.Header) error {
			carried++
			if header.Get("X-Signature") != delivery.Sign("a typed secret", job.Payload) || header.Get("X-Team") != "birds" {
				t.Errorf("%s: the header is %v", what, header)
			}
			return c.err
		}})
		sent := job("pigeon:loft")
		sent.Endpoint.Headers = map[string]string{"X-Team": "birds"}
		attempt := sender.Send(t.Context(), sent)
		if carried != 1 || attempt.Status != c.status || attempt.Error != c.fault || attempt.Outcome.Success() != (c.err == nil) {
			t.Errorf("%s: after %d flights the attempt is %+v", what, carried, attempt)
		}
	}
}

// An attempt ends in time where a transport does not.
func TestTransportThatHangs(t *testing.T) {
	t.Parallel()
	sender, ended := sender(), make(chan struct{})
	defer close(ended)
	sender.Handle("pigeon", pigeons{func(context.Context, *delivery.Job, http.Header) error {
		<-ended
		return nil
	}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if attempt := sender.Send(ctx, job("pigeon:loft")); attempt.Outcome.Success() || attempt.Error != "interrupted" {
		t.Errorf("the attempt is %+v", attempt)
	}
}

// A URL is checked by the transport of its scheme, in whatever case that is written; without one it has to be HTTP's.
func TestCheckURLByScheme(t *testing.T) {
	t.Parallel()
	s := sender()
	s.Handle("pigeon", pigeons{})
	for raw, want := range map[string]string{
		"pigeon:loft":         "",
		"PIGEON:loft":         "",
		"pigeon:":             "must name a loft",
		"https://example.com": "",
		"swan:lake":           "must begin with https:// or http://",
	} {
		err := s.CheckURL(raw, false)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%s: got %v, want %q", raw, err, want)
		}
	}
}
