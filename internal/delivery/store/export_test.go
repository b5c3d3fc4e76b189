package store

import (
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/webhook/filter"
)

// Enqueue puts the deliveries of a new event into the queues of their contacts.
func Enqueue(app core.App, eventID string, now time.Time) error {
	_, err := sqlite.Run(app, []sqlite.Statement{enqueue(enqueueEventsSQL, []string{eventID}, stamp.Stored(now))})
	return err
}

// AttemptsAtOnce is how many attempts a chunk deletes at a time.
const AttemptsAtOnce = attemptsAtOnce

// DeleteEvents deletes those of the events that are finished.
func DeleteEvents(tx core.App, ids ...string) (int, error) {
	some := make([]aged, len(ids))
	for i, id := range ids {
		some[i].ID = id
	}
	deleted, _, err := deleteEvents(tx, some)
	return deleted, err
}

// MovedAt sets when the cursor was moved last for events that no webhook wants.
func (s *Store) MovedAt(at time.Time) { s.moved = at }

// QueuePlans are the statements that run for every fetch and every result, with arguments that fit.
func QueuePlans() map[string][]any {
	now, ids := stamp.Stored(time.Now()), "[]"
	return map[string][]any{
		agendaSQL:          nil,
		dueSQL:             {ids, now, 10, ids},
		lagSQL:             nil,
		subscribersSQL:     {""},
		fullyFannedOutSQL:  {ids},
		contactEventsSQL:   {ids, 1, 1},
		insertSQL:          {"", "", "", "", now, ""},
		enqueueEventsSQL:   {now, ids},
		enqueueNextSQL:     {now, ids},
		enqueueRequeuedSQL: {now, ids},
		endpointsSQL:       {ids},
		openSQL:            {ids},
		currentSQL:         {ids},
		occupiedSQL:        {ids},
		pingedSQL:          {"", ""},
		rescheduleSQL:      {now, ids, now},
		finishSQL:          {"", 1, "", 0, "", now, "", 0},
		erasedContactsSQL:  {ids},
		redactEventsSQL + "id IN (SELECT value FROM json_each(?1))": {ids},
		redactAttemptsSQL + "(SELECT value FROM json_each(?1))":     {ids},
		redactAttemptsSQL + finishedOfSQL:                           {ids},
		redactSomeSQL:                                               {ids},
		contactAttemptsSQL:                                          {ids, 1},
		deleteAttemptsSQL:                                           {ids, 1},
		disableSQL:                                                  {"", "", now},
		failingSQL:                                                  {"", now},
		lastSuccessSQL:                                              {""},
	}
}

// WriteAfter decides a fan-out, calls change, and reports whether the write then writes anything.
func WriteAfter(s *Store, change func()) (written bool, err error) {
	f, err := s.decide()
	if err != nil {
		return false, err
	}
	change()
	f, err = s.write(sqlite.WriteDerived, f, time.Now())
	return f.at.passed > 0, err
}

// Compiled returns the compiled filters by webhook.
func Compiled(s *Store) map[string]*filter.Filter {
	all := map[string]*filter.Filter{}
	for _, a := range s.directory.audiences {
		for _, sub := range a.subscribers {
			all[sub.id] = sub.filter
		}
	}
	return all
}

// WindowPage is how many rows of a recovery's window are read at a time.
const WindowPage = windowPage

// WindowQueries are the statements that read the window of a recovery, for each of their indexes.
func WindowQueries(app core.App) map[string]*dbx.Query {
	queries := map[string]*dbx.Query{}
	for plan, text := range map[string]string{
		"SEARCH deliveries USING INDEX idx_deliveries_failed (webhook=? AND created>?)":         failedPageSQL,
		"SEARCH events USING COVERING INDEX idx_events_feed (tenant=? AND rowid>? AND rowid<?)": unsentPageSQL,
		"SEARCH deliveries USING INDEX idx_deliveries_webhook (webhook=? AND created>?)":        pendingPageSQL,
	} {
		queries[plan] = app.DB().NewQuery("EXPLAIN QUERY PLAN " + text).Bind(dbx.Params{
			"webhook": "", "tenant": "", "kinds": "[]", "since": "", "now": "", "place": "", "row": 0, "limit": windowPage,
		})
	}
	return queries
}
