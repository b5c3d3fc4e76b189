package broker

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contactbase/internal/delivery"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	b := New(Options{URL: "nats://127.0.0.1:1", Subjects: []string{"contactbase.>", "crm.*.events"}}, "test")
	for raw, says := range map[string]string{
		"nats:contactbase.acme":       "",
		"nats:contactbase.acme.a_b-c": "",
		"NATS:contactbase.acme":       "",
		"nats:crm.acme.events":        "",
		"nats:contactbase":            "--natsSubjects",
		"nats:crm.acme.other":         "--natsSubjects",
		"nats:crm.acme.events.more":   "--natsSubjects",
		"nats:other":                  "--natsSubjects",
		"nats:":                       "a subject without wildcards",
		"nats:contactbase.>":          "a subject without wildcards",
		"nats:contactbase.*":          "a subject without wildcards",
		"nats:contactbase..acme":      "a subject without wildcards",
		"nats:contactbase.":           "a subject without wildcards",
		"nats:contactbase.a b":        "a subject without wildcards",
		"nats:contactbase.ä":          "a subject without wildcards",
		"nats://contactbase.acme":     "a subject without wildcards",
		"nats:contactbase.acme?a=b":   "a subject without wildcards",
		"nats:contactbase.acme#a":     "a subject without wildcards",
		"nats:$JS.API.STREAM.PURGE.x": "a subject without wildcards",
	} {
		target, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		err = b.CheckURL(target)
		if says == "" && err != nil || says != "" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: got %v, want %q", raw, err, says)
		}
	}
	without := New(Options{Subjects: []string{">"}}, "test")
	if err := without.CheckURL(&url.URL{Scheme: Scheme, Opaque: "contactbase.acme"}); err == nil || !strings.Contains(err.Error(), "--nats") {
		t.Errorf("without --nats: got %v", err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	credentials := filepath.Join(t.TempDir(), "user.creds")
	if err := os.WriteFile(credentials, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for setting, all := range map[string][]Options{
		"": {
			{Subjects: []string{DefaultSubjects}},
			{URL: "nats://127.0.0.1:4222, tls://user:password@nats.example.com", Credentials: credentials, Subjects: []string{"*.events", ">"}},
		},
		"nats":         {{URL: "127.0.0.1:4222"}, {URL: "http://127.0.0.1"}, {URL: "nats://"}, {URL: "nats://a,"}},
		"natsCreds":    {{Credentials: credentials + ".none"}},
		"natsSubjects": {{Subjects: []string{""}}, {Subjects: []string{"a..b"}}, {Subjects: []string{"a.>.b"}}, {Subjects: []string{"a.b*"}}, {Subjects: []string{"$JS.>"}}},
	} {
		for _, options := range all {
			if found, err := options.Check(); found != setting || (err == nil) != (setting == "") {
				t.Errorf("%+v: %q %v, want %q", options, found, err, setting)
			}
		}
	}
}

// A delivery without a reachable broker fails soon, with a clear error.
func TestDeliverWithoutServer(t *testing.T) {
	t.Parallel()
	job := &delivery.Job{EventID: "e", Endpoint: &delivery.Endpoint{URL: "nats:contactbase.acme"}}
	for says, options := range map[string]Options{
		"runs without --nats":     {},
		"cannot connect to NATS:": {URL: "nats://user:a-password@127.0.0.1:1", Subjects: []string{DefaultSubjects}},
	} {
		b := New(options, "test")
		err := b.Deliver(t.Context(), job, http.Header{})
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "a-password") {
			t.Errorf("got %v, want %q", err, says)
		}
		b.Close()
	}
}
