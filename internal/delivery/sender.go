package delivery

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"contactbase/internal/event"
)

const (
	// attemptTimeout is how long an attempt may take, from connecting to the last byte of the answer.
	attemptTimeout = 15 * time.Second

	// maxKept is how much of an answer's body is stored, in bytes.
	maxKept = 16 << 10

	// maxRead is how much of an answer's body is read, in bytes. What lies between maxKept and it is thrown away, so
	// that the connection can be used again. A larger answer loses its connection; whether it is a success is up to
	// its status either way.
	maxRead = 1 << 20
)

// Sender makes attempts.
type Sender struct {
	client    *http.Client
	userAgent string
	timeout   time.Duration
}

// NewSender returns a sender that uses the client, which has to be one of safehttp's, and calls itself
// Contactbase/<version>.
func NewSender(client *http.Client, version string) *Sender {
	return &Sender{client: client, userAgent: "Contactbase/" + version, timeout: attemptTimeout}
}

// Send makes one attempt and describes it. It takes no longer than 15 s; it ends earlier, with a failed attempt,
// where ctx does.
func (s *Sender) Send(ctx context.Context, job *Job) *Attempt {
	attempt := &Attempt{
		DeliveryID:      job.DeliveryID,
		Number:          job.Attempt,
		Started:         time.Now(),
		RequestHeaders:  "{}",
		ResponseHeaders: "{}",
	}
	if err := job.Endpoint.Fault; err != nil {
		attempt.fail(FailureLocal, err.Error())
		return attempt
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request, err := s.request(ctx, job, attempt.Started)
	if err != nil {
		attempt.fail(FailureLocal, describe(err))
		return attempt
	}
	attempt.RequestHeaders = headersJSON(request.Header, func(name string) bool {
		_, own := job.Endpoint.Headers[name]
		return own
	})
	if _, own := request.Header["Idempotency-Key"]; !own {
		// Lets net/http send the request again where an idle connection turns out to be dead. An entry without values
		// is not sent. A delivery may arrive twice anyway.
		request.Header["Idempotency-Key"] = nil
	}
	s.exchange(request, attempt)
	attempt.Duration = time.Since(attempt.Started)
	return attempt
}

// exchange sends the request and reads the answer into the attempt.
func (s *Sender) exchange(request *http.Request, attempt *Attempt) {
	response, err := s.client.Do(request)
	if err != nil {
		s.failed(attempt, err)
		return
	}
	defer response.Body.Close()
	attempt.Status = response.StatusCode
	attempt.ResponseHeaders = headersJSON(response.Header, func(name string) bool { return name == "Set-Cookie" })
	attempt.Outcome.Status = response.StatusCode
	attempt.Outcome.RetryAfter = parseRetryAfter(response.Header.Get("Retry-After"), attempt.Started)
	kept, err := io.ReadAll(io.LimitReader(response.Body, maxKept))
	attempt.ResponseBody = printable(kept)
	if err == nil && len(kept) == maxKept {
		_, err = io.Copy(io.Discard, io.LimitReader(response.Body, maxRead-maxKept))
	}
	if err != nil {
		s.failed(attempt, err)
	}
}

func (s *Sender) failed(attempt *Attempt, err error) {
	if isTimeout(err) {
		attempt.fail(FailureTimeout, "timeout: no complete answer within "+s.timeout.String())
		return
	}
	attempt.fail(FailureNetwork, describe(err))
}

// fail ends the attempt without a complete answer.
func (a *Attempt) fail(kind Failure, text string) {
	a.Outcome.Failure = kind
	a.Error = truncate(text, maxErrorLength)
}

// request signs and addresses the job's payload.
func (s *Sender) request(ctx context.Context, job *Job, now time.Time) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, job.Endpoint.URL, bytes.NewReader(job.Payload))
	if err != nil {
		return nil, err
	}
	header := request.Header
	for name, value := range job.Endpoint.Headers {
		header[name] = []string{value}
	}
	publicID := event.IDPrefix + job.EventID
	// after the webhook's own, so that none of those takes the place of ours
	header["Content-Type"] = []string{"application/json"}
	header["User-Agent"] = []string{s.userAgent}
	header["X-Signature"] = []string{Sign(job.Endpoint.Secrets[0], job.Payload)}
	header["Webhook-Id"] = []string{publicID}
	header["Webhook-Timestamp"] = []string{strconv.FormatInt(now.Unix(), 10)}
	header["Webhook-Signature"] = []string{SignStandard(job.Endpoint.Secrets, publicID, now, job.Payload)}
	header["X-Event"] = []string{job.EventType}
	header["X-Delivery"] = []string{job.DeliveryID}
	header["X-Attempt"] = []string{strconv.Itoa(job.Attempt)}
	return request, nil
}

// printable returns the body as text that fits a text column: valid UTF-8 without NUL, at which SQLite's text
// functions end.
func printable(body []byte) string {
	return strings.ReplaceAll(strings.ToValidUTF8(string(body), "\uFFFD"), "\x00", "\uFFFD")
}
