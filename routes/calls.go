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

// maxCallPath is how many bytes are kept of the path of a call.
const maxCallPath = 200

// countedKey tells that a message of a model's client counts as a call: it spent some of the limit, or was refused by it, and no request
// of a tool counts in its place.
const countedKey = "contactbaseCounted"

// countCall counts a call of the API, or a message of a model's client, by its key, and keeps it if it was refused or failed.
func (s *server) countCall(e *core.RequestEvent, status int) {
	if e.Get(countedKey) == nil && !below(apiPrefix, e.Request.URL.Path) {
		return
	}
	key, _ := e.Get(callerKey).(string)
	now, code := time.Now(), requests.CodeOf(e)
	if code == string(fault.RateLimited) {
		status = http.StatusTooManyRequests // also where it is the result of a tool
	}
	if s.Calls.Count(key, status, now) {
		s.Calls.Keep(key, activity.Call{
			RequestID: requestID(e), Method: requests.KnownMethod(e.Request.Method), Path: callPath(e.Request.URL.Path),
			Status: status, Code: code, At: now,
		})
	}
}

// plainSegment matches the parts of a path that are addresses of ours or ids.
var plainSegment = regexp.MustCompile(`^[a-z0-9-]{0,32}$`)

// callPath returns the path of a call without what may say who a contact is: a contact can be known by an address.
func callPath(path string) string {
	segments := strings.Split(path[:min(len(path), maxCallPath)], "/")
	for i, segment := range segments {
		if !plainSegment.MatchString(segment) || i > 0 && segments[i-1] == "by-external-id" {
			segments[i] = "…"
		}
	}
	return strings.Join(segments, "/")
}
