package health_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"contactbase/internal/health"
	"contactbase/internal/testkit"
)

func ready(m *health.Monitor) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	m.ServeReady(answer, httptest.NewRequest(http.MethodGet, health.ReadyPath, nil))
	return answer
}

// The response names the failed checks, and nothing else.
func TestAnswers(t *testing.T) {
	t.Parallel()
	sound := health.Check{Name: "one", Look: func(context.Context) error { return nil }}
	broken := health.Check{Name: "two", Look: func(context.Context) error { return errors.New("it is broken") }}
	if got := ready(health.NewMonitor(sound)); got.Code != 200 || got.Body.String() != `{"status":"ready","reasons":[]}`+"\n" {
		t.Errorf("where all holds the answer is %d %s", got.Code, got.Body)
	}
	warned := health.NewMonitor(sound)
	warned.Warnings = func() []string { return []string{"Look at it."} }
	if got := ready(warned); got.Code != 200 || got.Body.String() != `{"status":"ready","reasons":[],"warnings":["Look at it."]}`+"\n" {
		t.Errorf("with a warning the answer is %d %s", got.Code, got.Body)
	}
	got := ready(health.NewMonitor(sound, broken))
	if want := `{"status":"not ready","reasons":[{"check":"two","message":"it is broken"}]}` + "\n"; got.Code != 503 || got.Body.String() != want {
		t.Errorf("the answer is %d %s", got.Code, got.Body)
	}
	if got.Header().Get("Cache-Control") != "no-store" || got.Header().Get("Content-Type") != "application/json" {
		t.Errorf("the header is %v", got.Header())
	}
	live := httptest.NewRecorder()
	health.ServeLive(live, httptest.NewRequest(http.MethodGet, health.LivePath, nil))
	if live.Code != 200 || live.Body.String() != `{"status":"alive"}`+"\n" {
		t.Errorf("a process that answers says %d %s", live.Code, live.Body)
	}
}

// However many requests come, the checks run once a second.
func TestChecksAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var looks atomic.Int32
		m := health.NewMonitor(health.Check{Name: "slow", Look: func(context.Context) error {
			looks.Add(1)
			time.Sleep(time.Second)
			return nil
		}})
		crowd := func() {
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() { m.Reasons() })
			}
			all.Wait()
		}
		crowd()
		time.Sleep(time.Second - time.Nanosecond)
		crowd()
		if looks.Load() != 1 {
			t.Errorf("within a second of the answer the check was made %d times", looks.Load())
		}
		time.Sleep(time.Nanosecond)
		crowd()
		if looks.Load() != 2 {
			t.Errorf("a second later the check was made %d times", looks.Load())
		}
	})
}

// A check that hangs is a reason, delays no request more than three seconds, and is not started again meanwhile.
func TestCheckThatHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var looks atomic.Int32
		m := health.NewMonitor(health.Check{Name: "stuck", Look: func(context.Context) error {
			looks.Add(1)
			<-release
			return nil
		}})
		for _, tc := range []struct {
			says string
			took time.Duration
		}{{"not finished after 3s", 3 * time.Second}, {"previous check", 0}} {
			began := time.Now()
			reasons := m.Reasons()
			if len(reasons) != 1 || !strings.Contains(reasons[0].Message, tc.says) || time.Since(began) != tc.took {
				t.Errorf("after %s the reasons are %v, without %q", time.Since(began), reasons, tc.says)
			}
			time.Sleep(time.Second)
		}
		if looks.Load() != 1 {
			t.Errorf("the check was begun %d times", looks.Load())
		}
		close(release)
		synctest.Wait()
		if reasons := m.Reasons(); len(reasons) != 0 {
			t.Errorf("once it has answered the reasons are %v", reasons)
		}
	})
}

func TestMetric(t *testing.T) {
	t.Parallel()
	m := health.NewMonitor(
		health.Check{Name: "one", Look: func(context.Context) error { return nil }},
		health.Check{Name: "two", Look: func(context.Context) error { return errors.New("it is broken") }},
	)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	if got := testkit.Metrics(t, registry); len(got) != 2 || got["contactbase_ready one"] != 1 || got["contactbase_ready two"] != 0 {
		t.Errorf("the metrics are %v", got)
	}
}
