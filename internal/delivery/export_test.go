package delivery

import (
	"context"
	"time"

	"contactbase/internal/stamp"
)

// SetTimeout shortens the time of an attempt.
func (s *Sender) SetTimeout(timeout time.Duration) { s.timeout = timeout }

// SetSend takes the place of the engine's sender.
func (e *Engine) SetSend(send func(context.Context, *Job) *Attempt) { e.send = send }

// QueuePlans are the statements that run for every claim and every result, with arguments that fit.
func QueuePlans() map[string][]any {
	now, ids := stamp.Stored(time.Now()), "[]"
	return map[string][]any{
		readySQL:          nil,
		nextDueSQL:        {now},
		chooseSQL:         {ids, now, 10, claimWindow, now},
		longSQL:           {ids, now, claimWindow},
		lineSQL:           {"", now, claimWindow, claimWindow, now},
		holdSQL:           {now, ids, now},
		callSQL:           {"", "", now},
		endpointsSQL:      {ids},
		leaseSQL:          {now, ids, now},
		releaseSQL:        {"", now},
		unleaseSQL:        {ids},
		setBackSQL:        {now, now, ids, ids},
		finishSQL:         {"", 1, "", 0, "", now, "", 0, now},
		erasedContactsSQL: {ids},
		redactEventsSQL + "id IN (SELECT value FROM json_each(?1))": {ids},
		redactAttemptsSQL + "(SELECT value FROM json_each(?1))":     {ids},
		disableSQL:     {"", "", now},
		failingSQL:     {"", now},
		lastSuccessSQL: {""},
	}
}
