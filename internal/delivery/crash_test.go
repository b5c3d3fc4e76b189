package delivery_test

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// crashDirEnv names the data directory to the process that TestEngineResumesAfterKill kills.
const crashDirEnv = "CONTACTBASE_TEST_CRASH_DIR"

// TestEngineResumesAfterKill kills another process in the middle of an attempt.
func TestEngineResumesAfterKill(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(crashDirEnv); dir != "" {
		sendUntilKilled(t, dir)
	}
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	var requests atomic.Int32
	arrived := make(chan http.Header, 10)
	testkit.Webhook(t, app, tenant, receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		arrived <- r.Header
		if requests.Add(1) == 1 {
			<-r.Context().Done() // until the sender is gone
		}
	}), "")
	id := strings.TrimPrefix(writeEvents(t, app, tenant, "", 1)[0], event.IDPrefix)

	doomed := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestEngineResumesAfterKill$")
	doomed.Env = append(os.Environ(), crashDirEnv+"="+app.DataDir())
	if err := doomed.Start(); err != nil {
		t.Fatal(err)
	}
	first := receive(t, arrived)
	// a clock that stands still: nothing waits for a time
	_, stop := start(t, app, delivery.Options{Now: newClock().Now})
	if err := doomed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = doomed.Wait()
	second := receive(t, arrived)
	stop()
	for _, name := range []string{"Webhook-Id", "X-Delivery", "X-Attempt"} {
		if first.Get(name) != second.Get(name) {
			t.Errorf("%s was %s, then %s", name, first.Get(name), second.Get(name))
		}
	}
	if got := testkit.DeliveryOf(t, app, id); got.Status != "delivered" || got.Attempts != 1 {
		t.Errorf("got %+v", got)
	}
}

// sendUntilKilled runs an engine on the folder and does not return.
func sendUntilKilled(t *testing.T, dir string) {
	app := testkit.Open(t, dir)
	delivery.NewEngine(app, delivery.Options{Queue: testkit.Deliveries(app), Sender: sender()}).Start()
	select {}
}
