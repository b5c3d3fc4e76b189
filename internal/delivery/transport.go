package delivery

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"contactbase/internal/safehttp"
)

// Transport sends events to endpoints whose URLs have a scheme other than http and https. It must be safe
// for concurrent use.
type Transport interface {
	// CheckURL checks the form of an endpoint's URL. Its error completes a sentence that begins with "The URL".
	CheckURL(target *url.URL) error

	// Deliver delivers the job's payload, and returns nil once the endpoint has stored it. header has what a request
	// would carry: the webhook's own headers and the sender's, with the signatures. Deliver must end with ctx, which
	// ends after 15 s. After an error the delivery is retried. The webhook's admin sees the error, so it must not
	// contain a secret.
	Deliver(ctx context.Context, job *Job, header http.Header) error
}

// Handle registers the transport of a lower-case URL scheme. Call it before the sender is used.
func (s *Sender) Handle(scheme string, transport Transport) { s.transports[scheme] = transport }

// CheckURL checks the form of a webhook's URL. memberOwned says whether a member of the tenant has set it. Its error
// completes a sentence that begins with "The URL".
func (s *Sender) CheckURL(raw string, memberOwned bool) error {
	if target, err := url.Parse(raw); err == nil {
		if transport := s.transport(target.Scheme, memberOwned); transport != nil {
			return transport.CheckURL(target)
		}
	}
	if err := safehttp.CheckURL(raw); err != nil {
		return err
	}
	if memberOwned && s.members != s.client && (safehttp.Options{}).Refuses(safehttp.Host(raw)) {
		return errors.New("must lead to an address on the public internet")
	}
	return nil
}

// transport returns the transport of a URL scheme, nil for HTTP. Members do not publish to the
// operator's message broker.
func (s *Sender) transport(scheme string, memberOwned bool) Transport {
	if memberOwned && scheme != InspectScheme {
		return nil
	}
	return s.transports[scheme]
}

// deliver makes the attempt through a transport. A success has status 204, as that of a receiver would.
func deliver(ctx context.Context, transport Transport, job *Job, header http.Header) answer {
	if err := transport.Deliver(ctx, job, header); err != nil {
		return answer{err: err}
	}
	return answer{status: http.StatusNoContent}
}

// InspectScheme is the scheme of the URL of a webhook whose events go to the Inspector: inspect: and nothing else.
const InspectScheme = "inspect"

// Inspector is the transport of webhooks whose events are only looked at. It verifies signatures as a receiver
// does, and stores nothing: the attempt's record has the event, as with any receiver. It has no address, so nobody
// else can send to it.
type Inspector struct{}

// CheckURL implements Transport.
func (Inspector) CheckURL(target *url.URL) error {
	if target.String() != InspectScheme+":" {
		return errors.New("must be exactly inspect: to show events in the dashboard")
	}
	return nil
}

// Deliver implements Transport.
func (Inspector) Deliver(_ context.Context, job *Job, header http.Header) error {
	if header.Get("X-Signature") != Sign(job.Endpoint.Secrets[0], job.Payload) {
		return errors.New("the header X-Signature does not verify")
	}
	sent, err := strconv.ParseInt(header.Get("Webhook-Timestamp"), 10, 64)
	if err != nil {
		return errors.New("the header webhook-timestamp is not a Unix time")
	}
	if header.Get("Webhook-Signature") != SignStandard(
		job.Endpoint.Secrets, header.Get("Webhook-Id"), time.Unix(sent, 0), job.Payload,
	) {
		return errors.New("the header webhook-signature does not verify")
	}
	return nil
}
