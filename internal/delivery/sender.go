package delivery

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"contactbase/internal/event"
	"contactbase/internal/safehttp"
)

// attemptTimeout is how long an attempt may take, from connecting to the last byte of the answer.
const attemptTimeout = 15 * time.Second

// Sender makes attempts.
type Sender struct {
	client     *http.Client
	members    *http.Client         // for URLs that members of a tenant have set
	transports map[string]Transport // by URL scheme; the client sends to all others
	userAgent  string
	timeout    time.Duration
}

// NewSender returns a sender that uses the client, which must be one of safehttp's. Webhooks whose URL a member of
// the tenant has set reach public addresses only. Its User-Agent is Contactbase/<version>.
func NewSender(client *http.Client, version string) *Sender {
	return &Sender{
		client: client, members: safehttp.New(safehttp.Options{}), transports: map[string]Transport{},
		userAgent: "Contactbase/" + version, timeout: attemptTimeout,
	}
}

// TrustMembers lets the URLs that members have set lead to all addresses that the sender's client reaches. Call it
// before the sender is used.
func (s *Sender) TrustMembers() { s.members = s.client }

// UseProxy sends also what members have set through the proxy. It refuses hosts that only the proxy can resolve,
// because the proxy may connect to private addresses. Call it before the sender is used.
func (s *Sender) UseProxy(proxy *url.URL) {
	s.members = safehttp.New(safehttp.Options{Proxy: proxy, MustResolve: true})
}

// Send makes one attempt and describes it. It takes at most 15 s, whatever the receiver does. If ctx ends earlier,
// the attempt fails.
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
		// Lets net/http repeat the request if an idle connection turns out to be dead. A header without values is not
		// sent. A delivery may arrive twice anyway.
		request.Header["Idempotency-Key"] = nil
	}
	s.record(attempt, s.exchange(ctx, job, request))
	attempt.Duration = time.Since(attempt.Started)
	return attempt
}

// record stores the response in the attempt.
func (s *Sender) record(attempt *Attempt, a answer) {
	attempt.Status, attempt.Outcome.Status = a.status, a.status
	if a.header != nil {
		attempt.ResponseHeaders = headersJSON(a.header, func(name string) bool { return name == "Set-Cookie" })
		attempt.Outcome.RetryAfter = parseRetryAfter(a.header.Get("Retry-After"), attempt.Started)
	}
	attempt.ResponseBody = printable(a.body)
	switch {
	case a.err == nil:
	case isTimeout(a.err):
		attempt.fail(FailureTimeout, "timeout: no complete response within "+s.timeout.String())
	default:
		attempt.fail(FailureNetwork, describe(a.err))
	}
}

// fail ends the attempt without a complete response.
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
	// after the webhook's own, which cannot replace ours
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

// printable returns the body as valid UTF-8 without NUL, at which SQLite's text functions end. Replacements are
// longer than the bytes that they replace.
func printable(body []byte) string {
	return cut(strings.ReplaceAll(strings.ToValidUTF8(string(body), "\uFFFD"), "\x00", "\uFFFD"), maxKept)
}

// Pinger stores pings. The error is sql.ErrNoRows if there is no such webhook.
type Pinger interface {
	Ping(webhookID string, now time.Time, send func(*Job) Result) error
}

// Ping sends a webhook.ping to the webhook now, even if it is disabled, and returns the attempt. An
// endpoint that cannot be reached or answers an error is not an error of Ping. The error is sql.ErrNoRows
// if there is no such webhook.
//
// A ping has one attempt. Event, delivery and attempt are stored together afterwards, so a crash in between
// forgets the ping.
func Ping(ctx context.Context, store Pinger, sender *Sender, webhookID string) (*Attempt, error) {
	var attempt *Attempt
	err := store.Ping(webhookID, time.Now(), func(job *Job) Result {
		attempt = sender.Send(ctx, job)
		return Result{Job: job, Attempt: attempt, Decision: Policy{}.Next(1, attempt.Outcome, time.Now(), 0)}
	})
	if err != nil {
		return nil, fmt.Errorf("pinging the webhook %q: %w", webhookID, err)
	}
	return attempt, nil
}

// Sampler sends samples. The error is sql.ErrNoRows if there is no such webhook.
type Sampler interface {
	Sample(webhookID string, kind event.Kind, body map[string]json.RawMessage, now time.Time, send func(*Job)) error
}

// Sample sends an event of the kind with the properties of body to the webhook now, even if it is disabled, and returns
// the attempt, of which nothing is stored. The error is sql.ErrNoRows if there is no such webhook.
func Sample(
	ctx context.Context, store Sampler, sender *Sender, webhookID string, kind event.Kind, body map[string]json.RawMessage,
) (attempt *Attempt, err error) {
	err = store.Sample(webhookID, kind, body, time.Now(), func(job *Job) { attempt = sender.Send(ctx, job) })
	if err != nil {
		return nil, fmt.Errorf("sending a sample to the webhook %q: %w", webhookID, err)
	}
	return attempt, nil
}
