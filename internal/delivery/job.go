package delivery

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/stamp"
)

// Endpoint is where deliveries go: a webhook, as an attempt needs it. Jobs of one webhook share it.
type Endpoint struct {
	WebhookID    string
	TenantID     string
	URL          string
	Headers      map[string]string // the webhook's own, without those that the sender sets
	MaxPerSecond int               // attempts; 0 for any number
	MemberOwned  bool              // whether a member of the tenant has set the URL
	Secrets      []string          // in plain text, the current one first; after a rotation the previous one follows
	// why nothing can be sent, for example a secret that cannot be decrypted; nil if all is well
	Fault error
}

// errOtherTenant is why an event is not sent to an endpoint of another tenant.
var errOtherTenant = errors.New("the event belongs to another tenant, and is not sent")

// For returns the endpoint for jobs of the tenant's events, with a Fault if the endpoint belongs to another tenant. So
// no row in the database can send an event to another tenant.
func (e *Endpoint) For(tenantID string) *Endpoint {
	if e.TenantID == tenantID {
		return e
	}
	faulty := *e
	faulty.Fault = errOtherTenant
	return &faulty
}

// Job is a delivery with all that an attempt needs.
type Job struct {
	DeliveryID   string
	Attempt      int // the number of the attempt to make, from 1
	EventID      string
	EventType    string
	EventCreated time.Time
	ContactID    string // "" if the event is about none
	Payload      []byte // the body, byte for byte
	Created      time.Time
	Endpoint     *Endpoint
}

// Attempt is one HTTP request of a delivery and the response.
type Attempt struct {
	DeliveryID      string
	Number          int // from 1
	Started         time.Time
	Duration        time.Duration // from connecting to the last byte of the response
	Status          int           // of the response; 0 if there was none
	Error           string        // why there was no complete response; "" if there was one
	RequestHeaders  string        // a JSON object of strings, secrets redacted
	ResponseHeaders string        // a JSON object of strings
	ResponseBody    string        // the first 16 KiB
	Outcome         Outcome
}

// ShownAttempt is an attempt as the superuser routes answer it.
type ShownAttempt struct {
	ID              string        `json:"id,omitempty" db:"id"` // "" in the answer to a ping
	Delivery        string        `json:"delivery" db:"delivery"`
	Number          int           `json:"number" db:"number"` // from 1
	Started         string        `json:"started" db:"started"`
	DurationMs      int64         `json:"durationMs" db:"durationMs"`
	Status          *int          `json:"status" db:"status"` // nil without a response
	Error           *string       `json:"error" db:"error"`   // nil if there was a complete response
	RequestHeaders  types.JSONRaw `json:"requestHeaders" db:"requestHeaders"`
	ResponseHeaders types.JSONRaw `json:"responseHeaders" db:"responseHeaders"`
	ResponseBody    string        `json:"responseBody" db:"responseBody"` // the first 16 KiB
}

// MarshalJSON encodes the attempt as a ShownAttempt.
func (a *Attempt) MarshalJSON() ([]byte, error) {
	answer := ShownAttempt{
		Delivery:        a.DeliveryID,
		Number:          a.Number,
		Started:         stamp.Shown(a.Started),
		DurationMs:      a.Duration.Milliseconds(),
		RequestHeaders:  types.JSONRaw(a.RequestHeaders),
		ResponseHeaders: types.JSONRaw(a.ResponseHeaders),
		ResponseBody:    a.ResponseBody,
	}
	if a.Status != 0 {
		answer.Status = &a.Status
	}
	if a.Error != "" {
		answer.Error = &a.Error
	}
	return json.Marshal(answer)
}

// Result is an attempt of a job and the decision about its delivery.
type Result struct {
	Job      *Job
	Attempt  *Attempt
	Decision Decision
}
