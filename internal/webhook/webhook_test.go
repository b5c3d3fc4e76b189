package webhook_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/safehttp"
	"contactbase/internal/secret"
	"contactbase/internal/webhook"
)

// webhookRecord returns a new record as the hooks have it.
func webhookRecord() *core.Record {
	collection := core.NewBaseCollection("webhooks")
	collection.Fields.Add(&core.TextField{Name: "url"}, &core.JSONField{Name: "headers"}, &core.TextField{Name: "sealedHeaders"}, &core.TextField{Name: "filter"})
	return core.NewRecord(collection)
}

func TestValidate(t *testing.T) {
	t.Parallel()
	checkURL := func(raw string, _ bool) error { return safehttp.CheckURL(raw) }
	record := webhookRecord()
	record.Set("url", "https://example.com/hook")
	if err := webhook.Validate(record, checkURL); err != nil {
		t.Error(err)
	}
	record.Set("url", "example.com")
	expectFault(t, webhook.Validate(record, checkURL), "url", "The URL must begin with https:// or http://.")
	record.Set("url", "https://example.com/hook")
	record.Set("filter", "data.company")
	expectFault(t, webhook.Validate(record, checkURL), "filter", "must be true or false")
}

func expectFault(t *testing.T, err error, field, fault string) {
	t.Helper()
	var faults validation.Errors
	if !errors.As(err, &faults) || len(faults) != 1 || faults[field] == nil || !strings.Contains(faults[field].Error(), fault) {
		t.Errorf("got %v, want %q at %s", err, fault, field)
	}
}

func TestInvalidHeaders(t *testing.T) {
	t.Parallel()
	many := map[string]string{}
	for i := range 21 {
		many[fmt.Sprintf("X-Header-%d", i)] = "value"
	}
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir()})
	for what, c := range map[string]struct {
		headers any
		fault   string
	}{
		"an array":                {[]string{"a"}, "must be a JSON object of strings"},
		"a number":                {map[string]any{"X-A": 1}, "must be a JSON object of strings"},
		"no name":                 {map[string]string{"": "a"}, "is not a valid header name"},
		"a bad name":              {map[string]string{"X A": "a"}, "is not a valid header name"},
		"one of ours":             {map[string]string{"x-signature": "a"}, "is set by the sender"},
		"one of the connection's": {map[string]string{"Transfer-Encoding": "a"}, "is set by the sender"},
		"one that waits":          {map[string]string{"expect": "100-continue"}, "is set by the sender"},
		"one of the proxy's":      {map[string]string{"Proxy-Authorization": "Basic eA=="}, "is set by the sender"},
		"another of the proxy's":  {map[string]string{"proxy-connection": "close"}, "is set by the sender"},
		"one of NATS":             {map[string]string{"nats-rollup": "all"}, "is set by the sender"},
		"a line break":            {map[string]string{"X-A": "a\r\nX-B: b"}, "characters that a header cannot have"},
		"too many":                {many, "at most 20"},
		"too long":                {map[string]string{"X-A": strings.Repeat("a", 16<<10)}, "16 KiB"},
		"twice":                   {map[string]string{"X-A": "a", "x-a": "b"}, "twice"},
		"nothing to keep":         {map[string]any{"X-A": nil}, "has no stored value"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			record := webhookRecord()
			record.Set("headers", c.headers)
			expectFault(t, webhook.SealHeaders(app, record), "headers", c.fault)
		})
	}
}

// A header that an earlier version allowed stays stored until it is removed, and is not sent.
func TestFormerHeaders(t *testing.T) {
	t.Parallel()
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir()})
	record := webhookRecord()
	record.Set("sealedHeaders", `{"expect":"100-continue","Proxy-Authorization":"Basic eA==","X-Team":"a"}`)
	record.Set("headers", map[string]any{"expect": nil, "Proxy-Authorization": nil, "X-Team": nil})
	if err := webhook.SealHeaders(app, record); err != nil {
		t.Fatal(err)
	}
	if names, err := webhook.HeaderNames(app, record); err != nil || len(names) != 3 {
		t.Errorf("stored are %v (%v)", names, err)
	}
	if sent, err := webhook.SentHeaders(app, record.GetString("sealedHeaders")); err != nil ||
		!maps.Equal(sent, map[string]string{"X-Team": "a"}) {
		t.Errorf("sent are %v (%v)", sent, err)
	}
}

// Headers are stored only in their sealed form. A client replaces them, keeps some by null, or removes all.
func TestSealHeaders(t *testing.T) { //nolint:paralleltest // sets the environment
	t.Setenv("CONTACTBASE_TEST_HEADERS_KEY", strings.Repeat("k", 32))
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: t.TempDir(), EncryptionEnv: "CONTACTBASE_TEST_HEADERS_KEY"})
	record := webhookRecord()
	for _, step := range []struct {
		sent any
		want map[string]string // as they are sent
	}{
		{nil, nil},
		{map[string]string{"authorization": "Bearer hunter2", "X-Team": "a"}, map[string]string{"Authorization": "Bearer hunter2", "X-Team": "a"}},
		{nil, map[string]string{"Authorization": "Bearer hunter2", "X-Team": "a"}},
		{map[string]any{"authorization": nil, "X-New": "b"}, map[string]string{"Authorization": "Bearer hunter2", "X-New": "b"}},
		{map[string]string{}, nil},
	} {
		record.Set("headers", step.sent)
		if err := webhook.SealHeaders(app, record); err != nil {
			t.Fatal(err)
		}
		sealed := record.GetString("sealedHeaders")
		if raw := record.GetString("headers"); raw != "" && raw != "null" || sealed != "" && !secret.IsSealed(sealed) {
			t.Errorf("stored are %q and %q", raw, sealed)
		}
		if got, err := webhook.SentHeaders(app, sealed); err != nil || !maps.Equal(got, step.want) {
			t.Errorf("after %v: got %v, %v", step.sent, got, err)
		}
		names, err := webhook.HeaderNames(app, record)
		if err != nil || names == nil || len(names) != len(step.want) || !slices.IsSorted(names) {
			t.Errorf("after %v: the names are %v, %v", step.sent, names, err)
		}
	}
}
