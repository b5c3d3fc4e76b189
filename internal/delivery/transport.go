package delivery

import (
	"context"
	"net/http"
	"net/url"

	"contactbase/internal/safehttp"
)

// A Transport brings events to endpoints whose URLs have a scheme other than http and https. Its methods are called by
// several goroutines at a time.
type Transport interface {
	// CheckURL checks the form of an endpoint's URL. What the error says completes a sentence that begins with "The URL".
	CheckURL(target *url.URL) error

	// Deliver hands the job's payload on, and returns nil once the endpoint has it for good. header is what a request would
	// carry: the webhook's own headers and the sender's, with the signatures. ctx ends after 15 s, and Deliver with it.
	// The error's text is shown to the admin of the webhook, so that it must hold no secret; the attempt is made again.
	Deliver(ctx context.Context, job *Job, header http.Header) error
}

// Handle has a transport send to all URLs of a scheme, which is in lower case. It must not be called once the sender is
// in use.
func (s *Sender) Handle(scheme string, transport Transport) { s.transports[scheme] = transport }

// CheckURL checks the form of a URL that a webhook is to have. What the error says completes a sentence that begins with
// "The URL".
func (s *Sender) CheckURL(raw string) error {
	if target, err := url.Parse(raw); err == nil {
		if transport, found := s.transports[target.Scheme]; found {
			return transport.CheckURL(target)
		}
	}
	return safehttp.CheckURL(raw)
}

// deliver has a transport make the attempt. What it delivered counts as answered with 204, so that all who look at the
// status of an attempt find a success.
func deliver(ctx context.Context, transport Transport, job *Job, header http.Header) answer {
	if err := transport.Deliver(ctx, job, header); err != nil {
		return answer{err: err}
	}
	return answer{status: http.StatusNoContent}
}
