package app

import (
	"context"
	"io"
	"log/slog"
	"sync/atomic"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/pocketbase/pocketbase/tools/logger"

	"contactbase/internal/credential"
	"contactbase/internal/order"
	"contactbase/internal/requests"
)

// NewLog returns a handler that writes entries of at least this level as lines, JSON or text, without credentials.
func NewLog(to io.Writer, asJSON bool, level slog.Level) slog.Handler {
	options := &slog.HandlerOptions{Level: level}
	if asJSON {
		return slog.NewJSONHandler(redacted{to}, options)
	}
	return slog.NewTextHandler(redacted{to}, options)
}

// redacted is a writer that removes credentials from lines.
type redacted struct{ to io.Writer }

// Write implements io.Writer. Handlers call it once per line.
func (r redacted) Write(line []byte) (int, error) {
	if _, err := io.WriteString(r.to, credential.Redact(string(line))); err != nil {
		return 0, err
	}
	return len(line), nil
}

// bindLog also sends the entries of PocketBase's log to handler while the program serves, except those about
// requests, which handler receives in another form. It returns the logger for them, or nil without a handler.
func bindLog(app core.App, handler slog.Handler) *slog.Logger {
	if handler == nil {
		return nil
	}
	second := &secondLog{Handler: handler, serving: new(atomic.Bool)}
	var table *logger.BatchHandler
	app.OnBootstrap().BindFunc(func(e *core.BootstrapEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		if made, isTable := e.App.Logger().Handler().(*logger.BatchHandler); isTable {
			table = made
			*e.App.Logger() = *slog.New(slog.NewMultiHandler(table, second)) // every copy of the app has this pointer
		}
		return nil
	})
	app.OnSettingsReload().BindFunc(func(e *core.SettingsReloadEvent) error {
		if err := e.Next(); err != nil {
			return err
		}
		if table != nil && !e.App.IsDev() {
			table.SetLevel(slog.Level(e.App.Settings().Logs.MinLevel)) // PocketBase can no longer reach it
		}
		return nil
	})
	app.OnServe().Bind(&hook.Handler[*core.ServeEvent]{
		Id: "contactbaseLog",
		Func: func(e *core.ServeEvent) error {
			second.serving.Store(true)
			return e.Next()
		},
		Priority: order.LogPrinted,
	})
	return slog.New(handler)
}

// secondLog handles the entries of PocketBase's log that are not about requests, while the program serves. Other
// commands print their results to the same place.
type secondLog struct {
	slog.Handler
	serving *atomic.Bool
}

func (s *secondLog) Enabled(ctx context.Context, level slog.Level) bool {
	return s.serving.Load() && s.Handler.Enabled(ctx, level)
}

func (s *secondLog) Handle(ctx context.Context, record slog.Record) error {
	if requests.IsAbout(record) {
		return nil
	}
	return s.Handler.Handle(ctx, record)
}

func (s *secondLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &secondLog{s.Handler.WithAttrs(attrs), s.serving}
}

func (s *secondLog) WithGroup(name string) slog.Handler {
	return &secondLog{s.Handler.WithGroup(name), s.serving}
}
