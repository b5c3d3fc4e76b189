package event_test

import (
	"errors"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"contactbase/internal/event"
	"contactbase/internal/fault"
	"contactbase/internal/testkit"
)

// Every parameter of the feed is accepted up to its bounds. Beyond them, the error names it.
func TestParseQuery(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	oldest, cursor := event.Oldest, "evt_0123456789abcde"
	for query, want := range map[string]event.Query{
		"":                {Limit: 100},
		"after=":          {Limit: 100, After: &oldest},
		"after=" + cursor: {Limit: 100, After: &cursor},
		"limit=1":         {Limit: 1},
		"limit=1000":      {Limit: 1000},
		"types=contact.created,%20webhook.failing": {Limit: 100, Filter: event.Filter{Kinds: []string{"contact.created", "webhook.failing"}}},
		"contact=" + strings.Repeat("c", 50):       {Limit: 100, Filter: event.Filter{Contact: strings.Repeat("c", 50)}},
		"wait=0":                                   {Limit: 100},
		"wait=30":                                  {Limit: 100, Wait: 30 * time.Second},
	} {
		if got, err := event.ParseQuery(app, values(t, query)); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q is %+v (%v)", query, got, err)
		}
	}
	for _, query := range []string{
		"after=x", "after=0123456789abcde", "limit=0", "limit=1001", "limit=", "limit=ten", "types=", "types=contact.created,x", "types=webhook.ping",
		"contact=", "contact=" + strings.Repeat("c", 51), "wait=-1", "wait=31", "wait=1.5",
	} {
		parameter, _, _ := strings.Cut(query, "=")
		_, err := event.ParseQuery(app, values(t, query))
		var refused *fault.Error
		if !errors.As(err, &refused) || len(refused.Fields) != 1 || refused.Fields[parameter].Message == "" {
			t.Errorf("%q gives %v", query, err)
		}
	}
}

func values(t *testing.T, query string) url.Values {
	t.Helper()
	v, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
