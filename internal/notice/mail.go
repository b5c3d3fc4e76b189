package notice

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/mailer"

	"contactbase/internal/event"
	"contactbase/internal/member"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

const (
	// sendTimeout is how long the mail server may take. PocketBase's mailer has no deadline.
	sendTimeout = 60 * time.Second
	// maxSending is how many mails may wait for a mail server that does not answer.
	maxSending = 3
	// stopTimeout is how long a stop waits for a mail that is being sent, which would otherwise be sent
	// again after the start.
	stopTimeout = 3 * time.Second

	// A mail is tried again after firstPause, doubled each time up to maxPause, until its notices are givenUpAfter
	// old. The pause begins before an attempt, so that a crash repeats a mail once.
	firstPause   = 2 * time.Minute
	maxPause     = time.Hour
	givenUpAfter = 3 * 24 * time.Hour

	// collected is the shortest time between two mails to the same recipient that are not urgent.
	collected = time.Hour
)

// The results of mails, as the label of the counter.
const (
	resultSent   = "sent"
	resultFailed = "failed"
)

var errTimeout = errors.New("the mail server did not respond in time")

const (
	// pickSQL returns the mail, the recipient and the earlier attempts of the next mail at ?1: a failed mail, or a
	// new one for unsent notices. Notices that are not urgent wait while another mail of the recipient is unfinished,
	// or is younger than ?2.
	pickSQL = "SELECT m.`mail`, m.`recipient`, m.`attempts` FROM `_noticeMails` m " +
		"WHERE m.`done` = '' AND m.`due` <= ?1 AND (m.`mail` != '' OR m.`urgent` " +
		"OR NOT EXISTS (SELECT 1 FROM `_noticeMails` o " +
		"WHERE o.`recipient` = m.`recipient` AND o.`mail` != '' AND (o.`done` = '' OR o.`done` > ?2))) " +
		"ORDER BY m.`urgent` DESC, m.`due` LIMIT 1"
	claimSQL = "UPDATE `_noticeMails` SET `mail` = :mail, `attempts` = :attempts, `due` = :retry " +
		"WHERE `recipient` = :recipient AND `mail` = :picked AND `done` = '' AND `due` <= :now"
	finishSQL = "UPDATE `_noticeMails` SET `done` = ?2 WHERE `mail` = ?1 AND `done` = ''"

	contentSQL = "SELECT n.`kind`, n.`tenant`, n.`data`, n.`created` " +
		"FROM `_noticeMails` m CROSS JOIN `_notices` n ON n.`id` = m.`notice` " +
		"WHERE m.`recipient` = ?1 AND m.`mail` = ?2 AND m.`done` = '' ORDER BY n.`created`, n.`id`"
)

// claim is a mail that is being sent.
type claim struct{ mail, recipient string }

// sendDue sends the mails that are due, one after the other, until one fails. Without an SMTP server, they wait.
func (s *Service) sendDue(ctx context.Context) error {
	for ctx.Err() == nil && s.app.Settings().SMTP.Enabled {
		select {
		case s.sending <- struct{}{}:
		default:
			return nil // the mail server answers nothing
		}
		next, message, err := s.next(s.now())
		if err != nil || message == nil {
			<-s.sending
			return err
		}
		if err := s.send(ctx, next, message); err != nil {
			s.mails.WithLabelValues(resultFailed).Inc()
			return err
		}
		s.mails.WithLabelValues(resultSent).Inc()
	}
	return nil
}

// send sends a mail, and returns an error if the mail server refuses it or takes too long. If it accepts the mail
// after all, that counts.
func (s *Service) send(ctx context.Context, c claim, message *mailer.Message) error {
	result := make(chan error, 1)
	go func() {
		defer func() { <-s.sending }()
		err := s.app.NewMailClient().Send(message)
		if err == nil && !s.stopped.Load() {
			err = s.finish(c)
		}
		result <- err
	}()
	select {
	case err := <-result:
		return err
	case <-time.After(s.timeout):
	case <-ctx.Done():
		select {
		case err := <-result:
			return err
		case <-time.After(stopTimeout):
		}
	}
	return errTimeout
}

// next claims the next mail and returns it. It returns nil if no mail is due.
func (s *Service) next(now time.Time) (claim, *mailer.Message, error) {
	for {
		c, found, err := s.claim(now)
		if err != nil || !found {
			return c, nil, err
		}
		message, err := s.compose(c)
		if err != nil || message != nil {
			return c, message, err
		}
		if err := s.finish(c); err != nil { // the recipient wants no mails any more
			return c, nil, err
		}
	}
}

// pick returns the next mail and its attempts. The mail of notices that were not sent yet has no id.
func (s *Service) pick(tx sqlite.Reader, now time.Time) (c claim, attempts int, err error) {
	err = sqlite.Each(tx, pickSQL, func(rows *sql.Rows) error {
		return rows.Scan(&c.mail, &c.recipient, &attempts)
	}, stamp.Stored(now), stamp.Stored(now.Add(-collected)))
	return c, attempts, err
}

func (s *Service) claim(now time.Time) (c claim, found bool, err error) {
	c, _, err = s.pick(sqlite.Direct(s.app.ConcurrentDB()), now) // without the writer lock
	if err != nil || c.recipient == "" {
		return c, false, err
	}
	_, err = sqlite.Write(s.app, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		picked, attempts, err := s.pick(tx, now)
		c = picked
		if err != nil || c.recipient == "" {
			return nil, err
		}
		if c.mail == "" {
			c.mail = recordid.New(now)
		}
		retry := now.Add(min(firstPause<<min(attempts, 10), maxPause))
		return []sqlite.Statement{{Text: claimSQL, Args: sqlite.Named(map[string]any{
			"mail": c.mail, "attempts": attempts + 1, "retry": stamp.Stored(retry),
			"recipient": c.recipient, "picked": picked.mail, "now": stamp.Stored(now),
		})}}, nil
	})
	return c, err == nil && c.recipient != "", err
}

func (s *Service) finish(c claim) error {
	_, err := sqlite.Exec(s.app, finishSQL, c.mail, stamp.Stored(s.now()))
	return err
}

// line is a notice in a mail.
type line struct {
	Kind    event.Kind
	Data    Data
	Created time.Time
}

// compose returns the message of a mail. It returns nil if the recipient is gone or wants no mails.
func (s *Service) compose(c claim) (*mailer.Message, error) {
	var lines []line
	var owner string
	err := s.each(contentSQL, func(rows *sql.Rows) error {
		var l line
		var data, created string
		if err := rows.Scan(&l.Kind, &owner, &data, &created); err != nil {
			return err
		}
		l.Created = stamp.Parse(created)
		lines = append(lines, l)
		return json.Unmarshal([]byte(data), &lines[len(lines)-1].Data)
	}, c.recipient, c.mail)
	if err != nil {
		return nil, fmt.Errorf("reading the notices of a mail: %w", err)
	}
	collection, tenantName := core.CollectionNameSuperusers, ""
	if owner != "" {
		collection = member.CollectionName
	}
	recipient, err := s.app.FindRecordById(collection, c.recipient)
	if errors.Is(err, sql.ErrNoRows) || len(lines) == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the recipient of a mail: %w", err)
	}
	if owner != "" {
		if !member.IsAdmin(recipient) || recipient.GetString("notify") == "never" {
			return nil, nil
		}
		tenantName, err = sqlite.Value[string](sqlite.Direct(s.app.ConcurrentDB()),
			"SELECT `name` FROM `tenants` WHERE `id` = ?", owner)
		if err != nil || tenantName == "" { // the tenant was deleted
			return nil, err
		}
	}
	return write(s.app.Settings(), c.mail, recipient.Email(), tenantName, lines)
}
