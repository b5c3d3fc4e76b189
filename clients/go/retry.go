package contactbase

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	random "math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"time"
)

// The delays between two attempts.
const (
	firstPause        = 250 * time.Millisecond // doubled with each attempt
	longestPause      = 8 * time.Second
	longestRetryAfter = time.Minute // a longer Retry-After is returned as an error
)

// retrying sends requests and retries temporary failures.
type retrying struct {
	client     *http.Client
	maxRetries int
}

// Do retries the request until its response is final. It returns the last response, read to its end.
func (r *retrying) Do(request *http.Request) (*http.Response, error) {
	if request.Method == http.MethodPost && request.Header.Get("Idempotency-Key") == "" {
		request.Header.Set("Idempotency-Key", rand.Text())
	}
	unsure := false // whether an attempt may have been applied
	for try := 0; ; try++ {
		answer, err := r.send(request)
		if received(err) && conditional(request) {
			return nil, fmt.Errorf("the change may be stored, so read the contact again: %w", err)
		}
		if unsure && request.Method == http.MethodDelete && err == nil && answer.StatusCode == http.StatusNotFound {
			answer.StatusCode = http.StatusNoContent // an earlier attempt has deleted it
		}
		unsure = unsure || err != nil || answer.StatusCode >= http.StatusInternalServerError
		if try >= r.maxRetries || !repeatable(request, answer, err) {
			return answer, err
		}
		pause, isLong := pauseAfter(request, answer, try)
		if isLong {
			return answer, err // more specific than an error of the context
		}
		if err := wait(request.Context(), pause); err != nil {
			return nil, err
		}
	}
}

// pauseAfter returns how long to wait after an attempt, and whether that is too long for the request.
func pauseAfter(request *http.Request, answer *http.Response, try int) (pause time.Duration, isLong bool) {
	pause = backoff(try)
	if after := retryAfter(answer); after > longestRetryAfter {
		return after, true
	} else if after > 0 {
		pause = after + random.N(firstPause) // clients with the same Retry-After do not return at the same time
	}
	end, ends := request.Context().Deadline()
	return pause, ends && time.Until(end) < pause
}

// send makes one attempt. It reads the whole response, because the connection may break.
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

// repeatable reports whether a retry may succeed and is safe.
func repeatable(request *http.Request, answer *http.Response, err error) bool {
	if err != nil {
		return request.Context().Err() == nil && !untrusted(err)
	}
	switch answer.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusServiceUnavailable: // unreplicated is a write that is stored
		return !conditional(request) || errorOf(answer).Code != CodeUnreplicated
	case http.StatusConflict:
		return errorOf(answer).Code == CodeIdempotencyKeyInUse
	case http.StatusBadGateway, http.StatusGatewayTimeout: // of a proxy
		return !conditional(request)
	}
	return false
}

// conditional reports whether the request is a conditional write. Without a response, the write may have been applied,
// and a retry could fail because of it.
func conditional(request *http.Request) bool {
	return request.Header.Get("If-Match") != "" || request.Header.Get("If-None-Match") != ""
}

// received reports whether the installation may have received a request that ended with the error.
func received(err error) bool {
	var operation *net.OpError
	unconnected := errors.As(err, &operation) && operation.Op == "dial"
	return err != nil && !unconnected && !untrusted(err)
}

// untrusted reports whether the error is about the certificate of the installation.
func untrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate)
}

// backoff returns the delay after an attempt, counted from 0. It doubles with each attempt; up to half of it is random.
func backoff(try int) time.Duration {
	most := min(firstPause<<min(try, 10), longestPause)
	return most/2 + random.N(most/2)
}

// retryAfter returns the duration in the response's Retry-After, or 0.
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
