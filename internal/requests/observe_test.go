package requests

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/pocketbase/pocketbase/tools/router"
	"github.com/prometheus/client_golang/prometheus"
)

// observed is a chain of handlers that starts with the observer.
type observed struct {
	tb    testing.TB
	app   core.App
	chain hook.Hook[*core.RequestEvent]
}

func observe(tb testing.TB, registerer prometheus.Registerer, log *slog.Logger) *observed {
	tb.Helper()
	ours := func(path string) bool { return strings.HasPrefix(path, "/ours") }
	observer, err := Observe(registerer, log, newRefusals(ours, func(string, refusal) {}),
		func(*core.RequestEvent, int, time.Duration) {})
	if err != nil {
		tb.Fatal(err)
	}
	o := &observed{tb: tb, app: core.NewBaseApp(core.BaseAppConfig{DataDir: tb.TempDir()})}
	o.app.Settings().Logs.LogIP = true
	o.chain.Bind(observer)
	return o
}

func (o *observed) event(method, path, pattern string) *core.RequestEvent {
	request := httptest.NewRequest(method, path, nil)
	request.Pattern = pattern
	e := &core.RequestEvent{App: o.app}
	e.Request, e.Response = request, &router.ResponseWriter{ResponseWriter: httptest.NewRecorder()}
	return e
}

// Each refused, failed or slow request has a log line, without anything that the client has sent. A request that
// waits on purpose is not slow.
func TestLog(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		path   string
		handle func(e *core.RequestEvent) error
		line   string
	}{
		"answered": {"/ours/secret?q=secret", func(e *core.RequestEvent) error {
			time.Sleep(slowAfter - time.Nanosecond)
			return e.NoContent(http.StatusNoContent)
		}, ""},
		"refused": {"/ours/secret?q=secret", func(e *core.RequestEvent) error {
			e.Response.Header().Set(IDHeader, "the-id")
			SetCode(e, "invalid_parameter")
			SetParameters(e, []string{"sort", "limit", "ada@example.com", "x1"})
			return errors.Join(e.NoContent(http.StatusBadRequest), errors.New("secret"))
		}, `level=INFO msg="request refused" requestId=the-id method=GET route="GET /ours/{id}" status=400 ms=0 code=invalid_parameter parameters="limit sort" client=192.0.2.1`},
		"refused elsewhere": {"/other/secret", func(*core.RequestEvent) error { return router.NewForbiddenError("secret", nil) },
			`level=INFO msg="request refused" method=GET route="GET /ours/{id}" status=403 ms=0 client=192.0.2.1`},
		"failed": {"/ours", func(*core.RequestEvent) error {
			return router.NewInternalServerError("the disk burns"+strings.Repeat("!", 5000), nil)
		},
			`level=ERROR msg="request failed" method=GET route="GET /ours/{id}" status=500 ms=0 client=192.0.2.1 error="The disk burns` + strings.Repeat("!", maxErrorText-14) + `"`},
		"moving": {"/ours", func(e *core.RequestEvent) error {
			SetCode(e, "tenant_moving")
			return e.NoContent(http.StatusServiceUnavailable)
		}, `level=INFO msg="request refused" method=GET route="GET /ours/{id}" status=503 ms=0 code=tenant_moving client=192.0.2.1`},
		"slow": {"/ours", func(e *core.RequestEvent) error {
			time.Sleep(slowAfter)
			return e.NoContent(http.StatusNoContent)
		}, `level=WARN msg="slow request" method=GET route="GET /ours/{id}" status=204 ms=1000 client=192.0.2.1`},
		"waiting": {"/ours", func(e *core.RequestEvent) error {
			Waits(e)
			time.Sleep(slowAfter)
			return e.NoContent(http.StatusNoContent)
		}, ""},
		"a page that listens": {"/api/realtime", func(e *core.RequestEvent) error {
			time.Sleep(slowAfter)
			return e.NoContent(http.StatusNoContent)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var lines bytes.Buffer
				withoutTime := &slog.HandlerOptions{ReplaceAttr: func(_ []string, attr slog.Attr) slog.Attr {
					if attr.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return attr
				}}
				o := observe(t, nil, slog.New(slog.NewTextHandler(&lines, withoutTime)))
				_ = o.chain.Trigger(o.event("GET", tc.path, "GET /ours/{id}"), tc.handle)
				if got := strings.TrimSuffix(lines.String(), "\n"); got != tc.line {
					t.Errorf("the log is %q, want %q", got, tc.line)
				}
			})
		})
	}
}

// Requests are measured by labels with few values: route, known method and class of status. Requests to other paths
// are counted together. Requests that wait on purpose are counted, but not timed.
func TestMetrics(t *testing.T) {
	t.Parallel()
	registry := prometheus.NewPedanticRegistry()
	o := observe(t, registry, nil)
	answer := func(status int) func(*core.RequestEvent) error {
		return func(e *core.RequestEvent) error {
			if e.Request.Header.Get("Waits") != "" {
				Waits(e)
			}
			return e.NoContent(status)
		}
	}
	for range 2 {
		_ = o.chain.Trigger(o.event("GET", "/ours/1", "GET /ours/{id}"), answer(200))
	}
	_ = o.chain.Trigger(o.event("GET", "/ours/2", "GET /ours/{id}"), answer(304))
	_ = o.chain.Trigger(o.event("BREW", "/ours/3", ""), answer(405))
	_ = o.chain.Trigger(o.event("GET", "/other/4", "GET /other"), answer(200))
	waiting := o.event("GET", "/ours/5", "GET /ours/{id}")
	waiting.Request.Header.Set("Waits", "yes")
	_ = o.chain.Trigger(waiting, answer(200))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			got[family.GetName()+" "+strings.Join(labels, ",")] = metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
		}
	}
	const total, duration = "contactbase_http_requests_total ", "contactbase_http_request_duration_seconds "
	want := map[string]float64{
		total + "GET,GET /ours/{id},200": 3, duration + "GET,GET /ours/{id},2xx": 2,
		total + "GET,GET /ours/{id},304": 1, duration + "GET,GET /ours/{id},3xx": 1,
		total + "other,,405": 1, duration + "other,,4xx": 1,
		total + "other,other,200": 1, duration + "other,other,2xx": 1,
	}
	for name, value := range want {
		if got[name] != value {
			t.Errorf("%s is %v, want %v", name, got[name], value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("the metrics are %v", got)
	}
}

// BenchmarkObserve compares requests with and without the observer.
func BenchmarkObserve(b *testing.B) {
	for name, bound := range map[string]bool{"observed": true, "not observed": false} {
		b.Run(name, func(b *testing.B) {
			o := observe(b, prometheus.NewRegistry(), slog.New(slog.DiscardHandler))
			if !bound {
				o.chain.UnbindAll()
			}
			e := o.event("GET", "/ours/1", "GET /ours/{id}")
			answer := func(*core.RequestEvent) error { return nil }
			e.Response.WriteHeader(http.StatusOK)
			b.ReportAllocs()
			for b.Loop() {
				_ = o.chain.Trigger(e, answer)
			}
		})
	}
}
