package store

import (
	"context"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/delivery"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// LineUp lines up the deliveries of a new event.
func LineUp(app core.App, eventID string, now time.Time) error {
	next, err := lined(lineUpEventsSQL, []string{eventID}, stamp.Stored(now))
	if err == nil {
		_, err = sqlite.Run(app, []sqlite.Statement{next})
	}
	return err
}

// DeleteEvents deletes those of the events that are finished.
func DeleteEvents(tx core.App, ids ...string) (int, error) {
	some := make([]aged, len(ids))
	for i, id := range ids {
		some[i].ID = id
	}
	return deleteEvents(tx, some)
}

// DeliveryID is the id of an event's delivery to a webhook.
var DeliveryID = deliveryID

// Anybody is the statements that look at webhooks until they find one that could want something.
var Anybody = []string{nobodySQL, unplacedSQL}

// MovedAt sets when the position was moved last for events that no webhook wants.
func (s *Store) MovedAt(at time.Time) { s.moved = at }

// KeepReady has the list of endpoints with something to send be read no more, and returns how many it has.
func (s *Store) KeepReady() int {
	s.list.until = time.Now().Add(time.Hour)
	return len(s.list.endpoints)
}

// QueuePlans are the statements that run for every claim and every result, with arguments that fit.
func QueuePlans() map[string][]any {
	now, ids := stamp.Stored(time.Now()), "[]"
	return map[string][]any{
		readySQL:          nil,
		nextDueSQL:        {now},
		chooseSQL:         {ids, now, 10, ids},
		waitingSQL:        nil,
		behindSQL:         {1, "", 1},
		firstSQL:          nil,
		lastSQL:           {ids},
		takenSQL:          {ids},
		unplacedSQL:       {1, ""},
		nobodySQL:         nil,
		wantedSQL:         {"", ""},
		placeSQL:          {"", "", "", "", "", 0, "", 0, "", "", now, now, ""},
		lineUpEventsSQL:   {now, ids},
		lineUpNextSQL:     {now, ids},
		lineUpRequeuedSQL: {now, ids},
		endpointsSQL:      {ids},
		openSQL:           {ids},
		leaseSQL:          {now, ids, now},
		heldSQL:           {ids},
		occupiedSQL:       {ids},
		releaseSQL:        {"", "", now},
		unleaseSQL:        {ids},
		setBackSQL:        {now, now, ids, ids, now},
		finishSQL:         {"", 1, "", 0, "", now, "", 0, now},
		erasedContactsSQL: {ids},
		redactEventsSQL + "id IN (SELECT value FROM json_each(?1))": {ids},
		redactAttemptsSQL + "(SELECT value FROM json_each(?1))":     {ids},
		disableSQL:     {"", "", now},
		failingSQL:     {"", now},
		lastSuccessSQL: {""},
	}
}

// ClaimAround is Claim with something done between the choice of deliveries and their lease, where any are chosen.
func (s *Store) ClaimAround(ctx context.Context, options delivery.ClaimOptions, between func()) ([]*delivery.Job, error) {
	due, _, err := s.ready(ctx, stamp.Stored(options.Now))
	if err != nil {
		return nil, err
	}
	due, placed := addFresh(due, nil, "")
	chosen, err := s.choose(ctx, s.fair.grant(due, options), placed, options.Now)
	if err != nil || len(chosen) == 0 {
		return nil, err
	}
	between()
	chosen, err = s.lease(chosen, stamp.Stored(options.Now), options.Now.Add(options.Lease))
	jobs := make([]*delivery.Job, len(chosen))
	for i, c := range chosen {
		jobs[i] = c.job
	}
	return jobs, err
}
