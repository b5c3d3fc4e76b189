package notice

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
	"github.com/prometheus/client_golang/prometheus"

	"contactbase/internal/backup"
	"contactbase/internal/loop"
	"contactbase/internal/order"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

const (
	findInterval = 30 * time.Second
	mailInterval = 5 * time.Second

	// kept is the minimum time for which a notice is kept. While it exists, it is not written again.
	kept = 30 * 24 * time.Hour
)

// Service finds the causes of notices, and sends the mails, in two loops: a mail server that hangs must not
// delay the notices.
type Service struct {
	app    core.App
	checks []Check
	wake   func() // called when there are new events
	now    func() time.Time

	finder  *loop.Loop
	mailer  *loop.Loop
	sending chan struct{} // has a value for each mail that the mail server has not answered
	timeout time.Duration // of a mail
	stopped atomic.Bool   // the database may be closed
	mails   *prometheus.CounterVec
}

// New returns a service that does nothing before Start. The operator gets a notice when a check begins to fail. wake
// is called when there are new events.
func New(app core.App, checks []Check, wake func()) *Service {
	s := &Service{
		app: app, checks: checks, wake: wake, now: time.Now, sending: make(chan struct{}, maxSending), timeout: sendTimeout,
		mails: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "contactbase_notice_mails_total",
			Help: "Attempts to send a mail with notices, by result: sent or failed.",
		}, []string{"result"}),
	}
	s.mails.WithLabelValues(resultSent) // 0 before the first
	s.mails.WithLabelValues(resultFailed)
	s.finder = loop.New(findInterval, s.findOrLog)
	s.mailer = loop.New(mailInterval, s.sendOrLog)
	app.OnBackupCreate().Bind(&hook.Handler[*core.BackupEvent]{
		Id: "contactbaseBackupNotice", Func: s.backup, Priority: order.BackupNoticed,
	})
	return s
}

// Start starts the loops.
func (s *Service) Start() {
	s.finder.Start()
	s.mailer.Start()
}

// Stop ends the loops. It waits a moment for a mail that is being sent.
func (s *Service) Stop() {
	s.finder.Stop()
	s.mailer.Stop()
	s.stopped.Store(true)
}

func (s *Service) findOrLog(ctx context.Context) {
	found, err := s.find(ctx, s.now())
	if err != nil && ctx.Err() == nil {
		s.app.Logger().Error("finding the causes of notices", "error", err)
	}
	if len(found) > 0 {
		s.wake()
	}
}

func (s *Service) sendOrLog(ctx context.Context) {
	if err := s.sendDue(ctx); err != nil && ctx.Err() == nil {
		s.app.Logger().Error("sending mails with notices", "error", err)
	}
}

// backup writes a notice of a backup that failed.
func (s *Service) backup(e *core.BackupEvent) error {
	err := e.Next()
	if err == nil || errors.Is(err, backup.ErrBusy) {
		return err
	}
	now := s.now()
	n := Notice{Kind: BackupFailed, Episode: stamp.Stored(now), Data: Data{Reason: err.Error()}}
	if failed := s.write(n, now); failed != nil {
		s.app.Logger().Error("writing the notice of a failed backup", "error", failed)
	}
	return err
}

const (
	pruneSQL = "DELETE FROM `_notices` WHERE `id` IN " +
		"(SELECT `id` FROM `_notices` WHERE `created` < ? ORDER BY `created` LIMIT ?)"
	giveUpSQL = "UPDATE `_noticeMails` SET `done` = ?1 " +
		"WHERE `done` = '' AND (SELECT `created` FROM `_notices` WHERE `id` = `notice`) < ?2"
)

// Prune deletes notices from before a time that are not needed any more, and gives up mails that could not be sent.
func Prune(ctx context.Context, app core.App, before, now time.Time) error {
	ended, err := sqlite.Exec(app, giveUpSQL, stamp.Stored(now), stamp.Stored(now.Add(-givenUpAfter)))
	if err != nil {
		return fmt.Errorf("giving up mails: %w", err)
	}
	if ended > 0 {
		app.Logger().Warn("gave up notices that could not be mailed for three days; see the mail settings",
			"notices", ended)
	}
	if needed := now.Add(-kept); needed.Before(before) {
		before = needed
	}
	return sqlite.DeleteInChunks(ctx, app, pruneSQL, stamp.Stored(before))
}

var countDesc = prometheus.NewDesc("contactbase_notices", "Notices that are kept, by kind.", []string{"kind"}, nil)

// Describe implements prometheus.Collector.
func (s *Service) Describe(descriptions chan<- *prometheus.Desc) {
	s.mails.Describe(descriptions)
	descriptions <- countDesc
}

// Collect implements prometheus.Collector.
func (s *Service) Collect(found chan<- prometheus.Metric) {
	s.mails.Collect(found)
	err := s.each("SELECT `kind`, count(*) FROM `_notices` GROUP BY `kind`", func(rows *sql.Rows) error {
		var kind string
		var n float64
		err := rows.Scan(&kind, &n)
		found <- prometheus.MustNewConstMetric(countDesc, prometheus.GaugeValue, n, kind)
		return err
	})
	if err != nil {
		found <- prometheus.NewInvalidMetric(countDesc, err)
	}
}
