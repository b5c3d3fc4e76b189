package e2e

import (
	"fmt"
	"net/http"
	"testing"
	"time"
)

// A receiver that sends no response, and one that sends a byte at a time, do not affect others: these get every event
// while the two hold all their attempts. (`bench` measures the duration.)
func TestIsolation(t *testing.T) {
	t.Parallel()
	const healthy, events = 10, 100
	i := newInstallation(t).superuser()
	tenant := str(t, i.one("tenant", "create", "Acme", "--rateLimit", "1000000"), "id")
	key := str(t, i.one("key", "create", tenant), "key")
	var hanging, dripping gate
	hanging.close()
	dripping.close()
	receivers := make([]*receiver, healthy+2)
	for n := range receivers {
		receivers[n] = newReceiver(t)
		var answer http.HandlerFunc
		switch n {
		case healthy:
			answer = func(_ http.ResponseWriter, request *http.Request) { hanging.pass(request.Context()) }
		case healthy + 1:
			answer = func(w http.ResponseWriter, request *http.Request) { drip(w, request, &dripping) }
		}
		receivers[n].set(str(t, i.one("webhook", "create", tenant, receivers[n].URL), "secret"), answer)
	}
	release := func() {
		hanging.release()
		dripping.release()
	}
	t.Cleanup(release)

	c := i.serve().client(key)
	ids := map[string]bool{}
	create := func() {
		created := c.expect(http.StatusCreated, http.MethodPost, contactsPath, fmt.Sprintf(`{"name":"Person %d"}`, len(ids)))
		ids[str(t, created.data(), "id")] = true
	}
	create()
	hanging.awaitHeld(t)
	dripping.awaitHeld(t)
	for len(ids) < events {
		create()
	}
	for n, r := range receivers[:healthy] {
		for _, d := range r.await(t, fmt.Sprintf("the healthy receiver %d", n), contacts(events)) {
			if d.Error != "" || !ids[d.Contact] || d.Attempt != "1" {
				t.Errorf("the healthy receiver %d gets %+v", n, d)
			}
		}
	}
	release() // otherwise the server waits for the attempts when it is stopped
}

// drip sends a byte a second until the gate opens or the client disconnects.
func drip(w http.ResponseWriter, request *http.Request, g *gate) {
	w.WriteHeader(http.StatusOK)
	second := time.NewTicker(time.Second)
	defer second.Stop()
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.pass(request.Context())
	}()
	for {
		if _, err := w.Write([]byte(".")); err != nil {
			<-done
			return
		}
		_ = http.NewResponseController(w).Flush()
		select {
		case <-second.C:
		case <-done:
			return
		}
	}
}
