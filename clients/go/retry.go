package contactbase

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	random "math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

// The pauses between two tries.
const (
	firstPause        = 250 * time.Millisecond // doubled with each try
	longestPause      = 8 * time.Second
	longestRetryAfter = time.Minute // who is told to wait longer is told so by the error
)

// retrying sends requests, and again those that failed for the moment.
type retrying struct {
	client     *http.Client
	maxRetries int
}

// Do sends the request until its answer is one to keep. It returns the last answer, read to its end.
func (r *retrying) Do(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPost && request.Header.Get("Idempotency-Key") == "" {
		request.Header.Set("Idempotency-Key", rand.Text())
	}
	for try := 0; ; try++ {
		answer, err := r.send(request)
		if try >= r.maxRetries || !repeatable(request, answer, err) {
			return answer, err
		}
		pause := backoff(try)
		if after := retryAfter(answer); after > longestRetryAfter {
			return answer, err
		} else if after > 0 {
			pause = after + random.N(firstPause) // all who were told the same do not come at the same time
		}
		if end, ends := request.Context().Deadline(); ends && time.Until(end) < pause {
			return answer, err // which says more than that time was over
		}
		if err := wait(request.Context(), pause); err != nil {
			return nil, err
		}
	}
}

// send tries once. It reads the whole answer, because the connection may break in the middle of it.
func (r *retrying) send(request *http.Request) (*http.Response, error) {
	try := request.Clone(request.Context())
	if request.GetBody != nil {
		body, err := request.GetBody()
		if err != nil {
			return nil, err
		}
		try.Body = body
	}
	answer, err := r.client.Do(try)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	answer.Body = io.NopCloser(bytes.NewReader(body))
	return answer, nil
}

// repeatable reports whether the request may succeed with another try, and does no harm.
func repeatable(request *http.Request, answer *http.Response, err error) bool {
	// Whether anything was written is not known without an answer of the installation, unless there was no connection. A
	// write with a condition could then fail because of what it wrote itself.
	conditional := request.Header.Get("If-Match") != "" || request.Header.Get("If-None-Match") != ""
	if err != nil {
		var certificate *tls.CertificateVerificationError
		var operation *net.OpError
		unconnected := errors.As(err, &operation) && operation.Op == "dial"
		return (unconnected || !conditional) && request.Context().Err() == nil && !errors.As(err, &certificate)
	}
	switch answer.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return true
	case http.StatusConflict:
		return errorOf(answer).Code == CodeIdempotencyKeyInUse
	case http.StatusBadGateway, http.StatusGatewayTimeout: // of a proxy
		return !conditional
	}
	return false
}

// backoff returns the pause after a try, the first of which is 0: it doubles with each, and up to half of it is chance.
func backoff(try int) time.Duration {
	most := min(firstPause<<min(try, 10), longestPause)
	return most/2 + random.N(most/2)
}

// retryAfter returns how long the answer asks to wait: 0 if it does not.
func retryAfter(answer *http.Response) time.Duration {
	if answer == nil {
		return 0
	}
	text := answer.Header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil {
		return time.Duration(min(max(seconds, 0), 1<<31)) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	return 0
}

func wait(ctx context.Context, pause time.Duration) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
