package delivery_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
)

func TestValidateWebhook(t *testing.T) {
	t.Parallel()
	collection := core.NewBaseCollection("webhooks")
	collection.Fields.Add(&core.TextField{Name: "url"}, &core.JSONField{Name: "headers"})
	many := map[string]string{}
	for i := range 21 {
		many[fmt.Sprintf("X-Header-%d", i)] = "value"
	}
	for _, c := range []struct {
		what    string
		url     string
		headers any
		field   string // at fault; "" for none
		fault   string
	}{
		{"no headers", "https://example.com/hook", nil, "", ""},
		{"headers", "https://example.com/hook", map[string]string{"Authorization": "Bearer x", "x-api-key": "y"}, "", ""},
		{"bad URL", "example.com", nil, "url", "The URL must begin with https:// or http://."},
		{"an array", "https://example.com", []string{"a"}, "headers", "must be a JSON object of strings"},
		{"a number", "https://example.com", map[string]any{"X-A": 1}, "headers", "must be a JSON object of strings"},
		{"no name", "https://example.com", map[string]string{"": "a"}, "headers", "is no name of a header"},
		{"a bad name", "https://example.com", map[string]string{"X A": "a"}, "headers", "is no name of a header"},
		{"one of ours", "https://example.com", map[string]string{"x-signature": "a"}, "headers", "is set by the sender"},
		{"one of the connection's", "https://example.com", map[string]string{"Transfer-Encoding": "a"}, "headers", "is set by the sender"},
		{"one of NATS", "https://example.com", map[string]string{"nats-rollup": "all"}, "headers", "is set by the sender"},
		{"a line break", "https://example.com", map[string]string{"X-A": "a\r\nX-B: b"}, "headers", "characters that a header cannot have"},
		{"too many", "https://example.com", many, "headers", "at most 20"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			record := core.NewRecord(collection)
			record.Set("url", c.url)
			record.Set("headers", c.headers)
			err := delivery.ValidateWebhook(record, sender())
			if c.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			var faults validation.Errors
			if !errors.As(err, &faults) || len(faults) != 1 || faults[c.field] == nil || !strings.Contains(faults[c.field].Error(), c.fault) {
				t.Errorf("got %v, want %q at %s", err, c.fault, c.field)
			}
		})
	}
}
