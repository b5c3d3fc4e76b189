package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"contactbase/internal/health"
	"contactbase/internal/order"
)

// newRegistry returns a registry with the metrics of the process and the Go runtime.
func newRegistry() *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		collectors.NewGoCollector(),
	)
	return registry
}

// bindMetrics serves /metrics on its own address, because metrics name tenants' webhooks and are not for all clients
// of the API. It serves the health checks there as well.
func bindMetrics(app core.App, address string, registry *prometheus.Registry, monitor *health.Monitor) {
	mux := http.NewServeMux()
	for path, answer := range healthHandlers(monitor) {
		mux.Handle("GET "+path, answer)
	}
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	bindSideServer(app, "metricsAddr", address, mux)
}

// bindProfiles serves net/http/pprof.
func bindProfiles(app core.App, address string) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	bindSideServer(app, "debugAddr", address, mux)
}

// bindSideServer serves a handler on the address of a flag while the program serves. An empty address serves nothing.
// It listens before the API does, so that a failure prevents the start.
func bindSideServer(app core.App, flag, address string, handler http.Handler) {
	if address == "" {
		return
	}
	id := "contactbase_" + flag
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	app.OnServe().Bind(&hook.Handler[*core.ServeEvent]{Id: id, Func: func(e *core.ServeEvent) error {
		var config net.ListenConfig
		listener, err := config.Listen(context.Background(), "tcp", address)
		if err != nil {
			return fmt.Errorf("--%s: %w", flag, err)
		}
		go func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				e.App.Logger().Error("a side server stopped", "flag", flag, "error", err)
			}
		}()
		return e.Next()
	}})
	order.OnStop(app, id, order.WorkersEnd, func() { _ = server.Close() })
}
