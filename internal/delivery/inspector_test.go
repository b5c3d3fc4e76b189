package delivery_test

import (
	"context"
	"net/http"
	"testing"

	"contactbase/internal/delivery"
)

// The inspector takes what the sender signs, and nothing of which a byte or a signature is another.
func TestInspectorVerifies(t *testing.T) {
	t.Parallel()
	sender := sender()
	sender.Handle(delivery.InspectScheme, delivery.Inspector{})
	if attempt := sender.Send(t.Context(), job("inspect:")); !attempt.Outcome.Success() {
		t.Fatalf("the attempt is %+v", attempt)
	}
	for what, spoil := range map[string]func(job *delivery.Job, header http.Header){
		"the body":              func(job *delivery.Job, _ http.Header) { job.Payload = append(job.Payload, ' ') },
		"the secret":            func(job *delivery.Job, _ http.Header) { job.Endpoint.Secrets = []string{"another secret"} },
		"X-Signature":           func(_ *delivery.Job, header http.Header) { header.Del("X-Signature") },
		"webhook-id":            func(_ *delivery.Job, header http.Header) { header.Set("Webhook-Id", "evt_other") },
		"webhook-timestamp":     func(_ *delivery.Job, header http.Header) { header.Set("Webhook-Timestamp", "now") },
		"webhook-signature":     func(_ *delivery.Job, header http.Header) { header.Set("Webhook-Signature", "v1,x") },
		"the webhook-timestamp": func(_ *delivery.Job, header http.Header) { header.Set("Webhook-Timestamp", "1") },
	} {
		sent := job("inspect:")
		var header http.Header
		sender.Handle("pigeon", pigeons{func(_ context.Context, _ *delivery.Job, carried http.Header) error {
			header = carried
			return nil
		}})
		sent.Endpoint.URL = "pigeon:loft"
		sender.Send(t.Context(), sent)
		if err := (delivery.Inspector{}).Deliver(t.Context(), sent, header); err != nil {
			t.Fatal(err)
		}
		spoil(sent, header)
		if err := (delivery.Inspector{}).Deliver(t.Context(), sent, header); err == nil {
			t.Errorf("it is taken although %s is another", what)
		}
	}
}

// Nothing can be said to the inspector by its URL.
func TestInspectorHasNoAddress(t *testing.T) {
	t.Parallel()
	sender := sender()
	sender.Handle(delivery.InspectScheme, delivery.Inspector{})
	for raw, allowed := range map[string]bool{"inspect:": true, "INSPECT:": true, "inspect:x": false, "inspect://x/": false, "inspect:?x": false, "inspect:#x": false} {
		if err := sender.CheckURL(raw, false); (err == nil) != allowed {
			t.Errorf("%s: %v", raw, err)
		}
	}
}
