package e2e

import (
	"context"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

const soakEnv = "SOAK_MINUTES"

// shortSoak is the default duration of the load, which only checks the test itself.
const shortSoak = 20 * time.Second

// longSoak is the minimum duration for checking growth: before that, caches and connection pools fill.
const longSoak = 10 * time.Minute

func soakTime(t *testing.T) time.Duration {
	t.Helper()
	if os.Getenv(soakEnv) != "" {
		return time.Duration(envCount(t, soakEnv, 1)) * time.Minute
	}
	testenv.Long(t, "puts a server under load for minutes")
	return shortSoak
}

// Under a constant mixed load, neither memory nor goroutines nor open files grow, and nothing is lost: clients read,
// search and write, tenants are created and deleted, and receivers are healthy, failing and hostile.
func TestSoak(t *testing.T) {
	t.Parallel()
	length := soakTime(t)
	c := newCrew(t)
	hostile := newHostile(t)
	address := freeAddress(t)
	c.env = []string{"CONTACTBASE_RETENTION_DAYS=1", "CONTACTBASE_METRICS_ADDR=" + address}
	s := c.serve()
	metrics := s.client("")
	metrics.base = "http://" + address
	admin := s.signIn()
	stranger := c.newGuest(admin, hostile.urls...)

	ctx, cancel := context.WithTimeout(t.Context(), length)
	defer cancel()
	var taken samples
	var group sync.WaitGroup
	group.Go(func() { taken = sample(ctx, t, metrics) })
	load := &load{crew: c, s: s, admin: admin, ctx: ctx}
	load.run(stranger)
	group.Wait()

	t.Log(load)
	report, grown := taken.growth()
	t.Log(strings.Join(report, "\n"))
	if len(grown) > 0 && length >= longSoak {
		t.Errorf("under a constant load, these metrics grow: %s", strings.Join(grown, "; "))
	}
	for line := range strings.Lines(string(metrics.expect(http.StatusOK, http.MethodGet, "/metrics", "").body)) {
		if strings.HasPrefix(line, "contactbase_writer_") {
			t.Log(strings.TrimSpace(line))
		}
	}
	hostile.well.Store(true)
	c.heal()
	s.stop()
	c.settle()
}
