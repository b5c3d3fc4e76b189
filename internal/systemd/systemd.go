// Package systemd lets systemd supervise the server. The server uses the socket on which systemd listens, and
// reports when it is ready and when it stops. systemd restarts it if it stops responding. Without systemd, the
// package does nothing.
package systemd

import (
	"context"
	"net/http"
	"net/http/httptest"
	"time"

	"contactbase/internal/order"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

// Bind supervises the server that the app starts. path answers 200 if the server works.
//
// See sd_listen_fds(3), sd_notify(3) and sd_watchdog_enabled(3).
func Bind(app core.App, path string) {
	ctx, cancel := context.WithCancel(context.Background())
	app.OnServe().Bind(&hook.Handler[*core.ServeEvent]{
		Id: "contactbaseSystemd",
		Func: func(e *core.ServeEvent) error {
			inherited, err := activatedSocket()
			if err != nil {
				return err
			}
			if inherited != nil {
				e.Listener = inherited
			}
			if err := e.Next(); err != nil {
				return err
			}
			if inherited != nil {
				inherited.bind(e)
			}
			notify(e.App, daemon.SdNotifyReady)
			return watch(ctx, e.App, e.Server.Handler, path)
		},
		Priority: order.SocketInherited,
	})
	app.OnTerminate().Bind(&hook.Handler[*core.TerminateEvent]{
		Id: "contactbaseSystemd",
		Func: func(e *core.TerminateEvent) error {
			cancel()
			if !e.IsRestart { // the process executes another image, and is ready again soon
				notify(e.App, daemon.SdNotifyStopping)
			}
			return e.Next()
		},
		Priority: order.StopAnnounced,
	})
}

// notify reports the server's state to systemd, if it asked for it.
func notify(app core.App, state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		app.Logger().Warn("notifying systemd: "+state, "error", err)
	}
}

// watch reports that the server works, twice in each of systemd's watchdog intervals.
func watch(ctx context.Context, app core.App, server http.Handler, path string) error {
	interval, err := daemon.SdWatchdogEnabled(false)
	if interval == 0 || err != nil {
		return err
	}
	go func() {
		ticker := time.NewTicker(interval / 2)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				if isResponding(ctx, server, path) {
					notify(app, daemon.SdNotifyWatchdog)
				}
			}
		}
	}()
	return nil
}

// isResponding sends the server a request within the process. It does not return while the server hangs.
func isResponding(ctx context.Context, server http.Handler, path string) bool {
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
	return answer.Code == http.StatusOK
}
