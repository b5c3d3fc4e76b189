package e2e

import (
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"contactbase/internal/testenv"
)

// A stream can be a receiver, and can be tested like any other.
func TestBrowserNATS(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts a NATS server only to look at its page; the tests of NATS need no browser")
	broker := startNATS(t)
	stream := broker.stream(t, jetstream.StreamConfig{})
	i, _ := newTenant(t)
	s := i.serve("--nats", broker.URL)
	b := s.newBrowser().signIn(s)
	b.integrations("/webhooks", "Webhooks")
	b.click("New webhook")
	b.click("NATS – events are published to a stream.")
	b.fill("Subject", "elsewhere.acme")
	b.fill("Name", "Events")
	b.click("Create webhook")
	b.sees("names a subject that --natsSubjects does not allow; it allows contactbase.>")
	b.look("webhook-form-nats")
	b.fill("Subject", "contactbase.acme")
	b.click("Create webhook")
	b.shown("Secret")
	b.click("I have stored it")
	b.closed()
	b.sees("nats:contactbase.acme")
	b.click("Send test event to Events")
	b.sees("204 accepted")
	published(t, stream, "the test event", distinct(1))
}
