package routes

import (
	"testing"
	"time"
)

// A stream outlives its handler. The server waits for it before the database closes.
func TestStreamsEndBeforeTheServer(t *testing.T) {
	t.Parallel()
	d, ended := &drain{empty: make(chan struct{})}, false
	d.begin()
	d.background(func() {
		for d.begin() { // until the shutdown has begun
			d.end()
		}
		ended = true
	})
	d.end()
	if d.wait(time.Minute); !ended {
		t.Error("the server does not wait for the stream")
	}
}
