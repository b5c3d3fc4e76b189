package integrations

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
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

// calledMethods are the methods of the API.
var calledMethods = []string{"GET", "POST", "PUT", "PATCH", "DELETE"}

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
	filter, err := callFilter(e.Request.URL.Query())
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
	found, err := overview.ActivityOfKey(e.App, key, filter, span, now)
	if err != nil {
		return err
	}
	return envelope.WriteData(e, struct {
		*overview.KeyActivity
		Limit limit.Rate `json:"limit"`
	}{found, allowed})
}

// maxPathPart is the longest part of a path that calls are filtered by, in bytes.
const maxPathPart = 200

// callFilter reads the parameters method, path, and status: a status such as 404, or a class of them such as 4xx.
func callFilter(values url.Values) (f activity.CallFilter, err error) {
	f.Method, f.Path = values.Get("method"), strings.TrimSpace(values.Get("path"))
	if f.Method != "" && !slices.Contains(calledMethods, f.Method) {
		return f, envelope.InvalidParameter("method", "must be one of "+strings.Join(calledMethods, ", "))
	}
	if len(f.Path) > maxPathPart {
		return f, envelope.InvalidParameter("path", fmt.Sprintf("must have at most %d bytes", maxPathPart))
	}
	status := values.Get("status")
	if status == "" {
		return f, nil
	}
	class, isClass := strings.CutSuffix(status, "xx")
	n, err := strconv.Atoi(class)
	if isClass {
		n *= 100
	}
	if err != nil || n < 100 || n > 599 {
		return f, envelope.InvalidParameter("status", "must be a status such as 404, or a class of them such as 4xx")
	}
	if f.LeastStatus, f.MostStatus = n, n; isClass {
		f.MostStatus += 99
	}
	return f, nil
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
