package backup

import (
	"errors"

	"contactbase/internal/order"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/prometheus/client_golang/prometheus"
)

// NewCounter returns the metric of the backups that the app makes from now on, by result: made or failed.
func NewCounter(app core.App) prometheus.Collector {
	backups := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "contactbase_backups_total",
		Help: "Backups that this process made, by result: made or failed.",
	}, []string{"result"})
	// shown as 0 before the first backup
	made, failed := backups.WithLabelValues("made"), backups.WithLabelValues("failed")
	app.OnBackupCreate().Bind(&hook.Handler[*core.BackupEvent]{
		Id: "contactbaseBackupCounter",
		Func: func(e *core.BackupEvent) error {
			err := e.Next()
			switch {
			case err == nil:
				made.Inc()
			case !errors.Is(err, ErrBusy): // the other backup counts
				failed.Inc()
			}
			return err
		},
		Priority: order.BackupCounted,
	})
	return backups
}
