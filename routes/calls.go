package routes

import (
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/fault"
	"contactbase/internal/requests"
)

// maxCallPath is how many bytes of a request's path are kept.
const maxCallPath = 200

// countedKey marks a message of an MCP client that counts as a request: it used up some of the limit, or was refused
// by it. A tool's request then does not count again.
const countedKey = "contactbaseCounted"

// receiverKey has the id of the inbound webhook that a request was sent to.
const receiverKey = "contactbaseReceiver"

// countCall counts an API request or an MCP message for its key, and stores it if it was rejected, failed, or
// one of the slowest.
func (s *server) countCall(e *core.RequestEvent, status int, took time.Duration) {
	if webhook, ok := e.Get(receiverKey).(string); ok {
		s.Calls.CountInbound(webhook, status, time.Now())
	}
	if e.Get(countedKey) == nil && !below(apiPrefix, e.Request.URL.Path) {
		return
	}
	key, _ := e.Get(callerKey).(string)
	now, code := time.Now(), requests.CodeOf(e)
	if code == string(fault.RateLimited) {
		status = http.StatusTooManyRequests // even if it is the result of a tool
	}
	if s.Calls.Count(key, status, took, now) {
		s.Calls.Keep(key, activity.Call{
			RequestID: requests.ID(e), Method: requests.KnownMethod(e.Request.Method), Path: loggedPath(e.Request.URL.Path),
			Status: status, Code: code, Parameters: requests.ParametersOf(e), Took: took, At: now,
		})
	}
}

// plainSegment matches path segments that are route names or record ids.
var plainSegment = regexp.MustCompile(`^[a-z0-9-]{0,32}$`)

// loggedPath returns the path without segments that may identify a person, such as an external id.
func loggedPath(path string) string {
	if strings.HasPrefix(path, byExternalID) {
		return byExternalID + "…"
	}
	segments := strings.Split(path[:min(len(path), maxCallPath)], "/")
	for i, segment := range segments {
		if !plainSegment.MatchString(segment) {
			segments[i] = "…"
		}
	}
	return strings.Join(segments, "/")
}
