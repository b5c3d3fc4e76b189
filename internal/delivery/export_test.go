package delivery

import (
	"context"
	"time"
)

// SetTimeout shortens the time of an attempt.
func (s *Sender) SetTimeout(timeout time.Duration) { s.timeout = timeout }

// SetSend takes the place of the engine's sender.
func (e *Engine) SetSend(send func(context.Context, *Job) *Attempt) { e.send = send }
