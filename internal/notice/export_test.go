package notice

import (
	"context"
	"time"
)

// At sets the time of the service, and how long it waits for the mail server.
func (s *Service) At(now time.Time, timeout time.Duration) {
	s.now, s.timeout = func() time.Time { return now }, timeout
}

// Find is one round of the finder, and SendDue one of the mailer.
func (s *Service) Find(ctx context.Context) ([]Notice, error) { return s.find(ctx, s.now()) }

// SendDue sends what is due.
func (s *Service) SendDue(ctx context.Context) error { return s.sendDue(ctx) }
