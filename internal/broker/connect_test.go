package broker

import (
	"context"
	"errors"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"contactbase/internal/delivery"
)

// silentServer returns the URL of a server that sends nothing, and a channel that receives its connections.
func silentServer(t *testing.T) (address string, connected <-chan net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	all := make(chan net.Conn, 100)
	go func() {
		defer close(all)
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { _ = connection.Close() })
			all <- connection
		}
	}()
	return listener.Addr().String(), all
}

// While a server does not respond, deliveries end with their contexts, and share one attempt to connect.
func TestDeliverEndsWithItsContext(t *testing.T) {
	t.Parallel()
	address, connected := silentServer(t)
	b := New(Options{URL: "nats://" + address, Subjects: []string{">"}}, "test")
	t.Cleanup(b.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	var attempts sync.WaitGroup
	for range 5 {
		attempts.Go(func() {
			job := &delivery.Job{Endpoint: &delivery.Endpoint{URL: "nats:contactbase.acme"}}
			if err := b.Deliver(ctx, job, http.Header{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a delivery returns %v", err)
			}
		})
	}
	attempts.Wait()
	<-connected
	select {
	case <-connected:
		t.Error("deliveries do not share an attempt to connect")
	default:
	}
}
