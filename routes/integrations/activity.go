package integrations

import (
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/overview"
	"contactbase/internal/tenant"
	"contactbase/routes/envelope"
	"contactbase/routes/limit"
)

// unknownKey stands in a path for requests without a known key.
const unknownKey = "unknown"

func (s *server) landing(e *core.RequestEvent) error {
	now := time.Now()
	span, err := spanOf(e, now)
	if err != nil {
		return err
	}
	owner := tenantOf(e)
	landing, err := overview.ReadLanding(e.App, owner, span, now)
	if err != nil {
		return err
	}
	if owner != "" { // the state of the program is the operator's business
		return envelope.WriteData(e, landing)
	}
	landing.NATS = &s.NATS
	for _, reason := range s.Reasons() {
		landing.Problems = append([]overview.Problem{
			{Kind: overview.NotReady, Name: reason.Check, Detail: reason.Message},
		}, landing.Problems...)
	}
	return envelope.WriteData(e, landing)
}

func (s *server) webhookActivity(e *core.RequestEvent) error {
	span, err := spanOf(e, time.Now())
	if err != nil {
		return err
	}
	found, err := overview.ActivityOfWebhook(e.App, e.Request.PathValue("id"), span)
	return envelope.WriteResult(e, found, err)
}

func (s *server) keyActivity(e *core.RequestEvent) error {
	now := time.Now()
	span, err := spanOf(e, now)
	if err != nil {
		return err
	}
	key := e.Request.PathValue("id")
	if key == unknownKey {
		key = ""
	}
	allowed, err := limitOfKey(e.App, key)
	if err != nil {
		return err
	}
	found, err := overview.ActivityOfKey(e.App, key, span, now)
	if err != nil {
		return err
	}
	return envelope.WriteData(e, struct {
		*overview.KeyActivity
		Limit limit.Rate `json:"limit"`
	}{found, allowed})
}

// limitOfKey returns the limit of a key or, for the key "", that of a client address without a valid key.
func limitOfKey(app core.App, key string) (limit.Rate, error) {
	if key == "" {
		return limit.Refused, nil
	}
	record, err := app.FindRecordById(keysTable, key)
	if err != nil {
		return limit.Rate{}, err
	}
	owner, err := tenant.Find(app, record.GetString("tenant"))
	if err != nil {
		return limit.Rate{}, err
	}
	return limit.OfKey(owner.RateLimit()), nil
}

// spanOf returns the period that a chart shows: the last 24 hours, unless the request names another one.
func spanOf(e *core.RequestEvent, now time.Time) (activity.Span, error) {
	switch e.Request.URL.Query().Get("period") {
	case "hour":
		return activity.Hour(now), nil
	case "", "day":
		return activity.Day(now), nil
	case "week":
		return activity.Week(now), nil
	case "month":
		return activity.Month(now), nil
	default:
		return activity.Span{}, envelope.InvalidParameter("period", "must be hour, day, week or month")
	}
}
