package delivery

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// InspectScheme is the scheme of the URL of a webhook whose events go to the Inspector: inspect: and nothing else.
const InspectScheme = "inspect"

// Inspector is the transport of webhooks whose events are only looked at. It verifies signatures as a receiver does, and stores nothing:
// the attempt's record has the event, as with any receiver. It has no address, so nobody else can send to it.
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
	if header.Get("Webhook-Signature") != SignStandard(job.Endpoint.Secrets, header.Get("Webhook-Id"), time.Unix(sent, 0), job.Payload) {
		return errors.New("the header webhook-signature does not verify")
	}
	return nil
}
