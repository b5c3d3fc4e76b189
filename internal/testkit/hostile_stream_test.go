package testkit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"contactbase/internal/event"
	"contactbase/internal/sse"
)

// Reading what a client of a stream asks for, and writing the stream, is linear.
func TestHostileStreams(t *testing.T) {
	linear(t, map[string]generator{
		"media types":        repeat("text/event-stream", ",text/html;q=0.1", ""),
		"other media types":  number("text/event-stream", ",text/x%d", ""),
		"parameters":         number("text/event-stream", ";a%d=b", ""),
		"equal parameters":   repeat("text/event-stream", ";a=b", ""),
		"parts of a value":   number("text/event-stream", ";a*%d=b", ""),
		"parts with escapes": number("text/event-stream;a*0*=''", ";a*%d*=%%41", ""),
		"qualities":          repeat("text/event-stream;q=0.", "1", ""),
		"quotation marks":    repeat("text/event-stream", `,"`, ""),
		"quoted texts":       repeat("text/event-stream", `;a="b,c"`, ""),
		"escapes":            repeat(`text/event-stream;a="`, `\"`, `"`),
		"commas":             repeat("text/event-stream", ",", ""),
		"spaces":             repeat("text/event-stream", " ", ";q=1"),
		"a long type":        repeat("text/event-stream", "x", ""),
		"bytes":              repeat("text/event-stream", "\xff,", ""),
	}, func(_ *testing.T, input []byte) {
		sse.IsPreferred(http.Header{"Accept": {string(input)}})
		sse.IsPreferred(http.Header{"Accept": {string(input), string(input)}})
		_, _ = event.ParseCursor(string(input)) // of Last-Event-ID
	})
	linear(t, map[string]generator{
		"a long line":   repeat(`{"name":"`, "a", `"}`),
		"line breaks":   repeat("", "\n", ""),
		"short lines":   repeat("", "a\n", ""),
		"other breaks":  repeat("", "\r\n\r", ""),
		"fields":        repeat("", "\ndata: x\nevent: y\nid: z\n\n", ""),
		"long ids":      repeat("evt_", "a", ""),
		"bytes":         repeat("", "\x00\xff", ""),
		"many comments": repeat("", sse.Heartbeat, ""),
	}, func(_ *testing.T, input []byte) {
		block := sse.AppendID(sse.AppendEvent(nil, "evt_1", "contact.updated", input), string(input))
		stream := sse.NewStream(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
		stream.Send(block)
	})
}
