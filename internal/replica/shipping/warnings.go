package shipping

import (
	"context"
	"log/slog"
)

// Quiet returns a logger that drops what Litestream logs below the level of warnings. A log entry is a write, which would make Litestream log
// again.
func Quiet(log *slog.Logger) *slog.Logger { return slog.New(warnings{log.Handler()}) }

// warnings is a log handler that drops records below the level of warnings.
type warnings struct{ slog.Handler }

func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
