package sse_test

import (
	"net/http"
	"strings"
	"testing"

	"contactbase/internal/sse"
)

func TestIsPreferred(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		accept []string
		want   bool
	}{
		{nil, false},
		{[]string{""}, false},
		{[]string{"text/event-stream"}, true},
		{[]string{"TEXT/EVENT-STREAM"}, true},
		{[]string{"Text/Event-Stream ; charset=utf-8"}, true},
		{[]string{"text/event-stream;q=0"}, false},
		{[]string{"text/event-stream; Q=0.000"}, false},
		{[]string{"text/event-stream;q=0.001"}, true},
		{[]string{"text/event-stream;q=2"}, false},
		{[]string{"text/event-stream;q=-1"}, false},
		{[]string{"text/event-stream;q=NaN"}, false},
		{[]string{"text/event-stream;q="}, false},
		{[]string{"text/event-streams"}, false},
		{[]string{"*/*"}, false},
		{[]string{"text/*"}, false},
		{[]string{"application/json"}, false},
		{[]string{"application/json, text/event-stream"}, true},
		{[]string{"application/json", "text/event-stream"}, true},
		{[]string{"application/json, text/event-stream;q=0.9"}, false},
		{[]string{"application/json;q=0.5,text/event-stream;q=0.9"}, true},
		{[]string{"text/event-stream;q=0.5, */*;q=0.1"}, true},
		{[]string{"text/event-stream;q=0.5", "*/*"}, false},
		{[]string{"*/*, application/json;q=0, text/event-stream;q=0.1"}, true},
		{[]string{"application/*;q=0.2, */*;q=0.8, text/event-stream;q=0.5"}, true},
		{[]string{"text/event-stream;q=0, text/event-stream"}, true},
		{[]string{`text/html;title="a, text/event-stream"`}, false},
		{[]string{`text/html;title="a \", text/event-stream", text/event-stream`}, true},
		{[]string{`,, text/event-stream ,`}, true},
		{[]string{"/; text/event-stream"}, false},
		{[]string{"text/event-stream" + strings.Repeat(", a/b", 1_000)}, true},
		{[]string{"text/event-stream" + strings.Repeat(", a/b", 2_000)}, false},
	} {
		if got := sse.IsPreferred(http.Header{"Accept": tc.accept}); got != tc.want {
			t.Errorf("Accept: %q prefers a stream: %t", tc.accept, got)
		}
	}
}
