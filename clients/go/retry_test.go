package contactbase_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	contactbase "contactbase/clients/go"
)

// tries creates a contact and returns the requests that it took. The clock is the test's own.
func tries(t *testing.T, options []contactbase.RequestOption, answers ...func() (*http.Response, error)) ([]sent, error) {
	t.Helper()
	client, n := newClient(t, answers...)
	_, err := client.Contacts.Create(t.Context(), contactbase.Fields{Name: contactbase.String("Ada")}, options...)
	return n.sent, err
}

func TestRetries(t *testing.T) {
	t.Parallel()
	done := answer(http.StatusCreated, adaAnswer)
	reset := failure(syscall.ECONNRESET)
	condition := []contactbase.RequestOption{contactbase.IfMatch(`"v1"`)}
	for name, c := range map[string]struct {
		answers []func() (*http.Response, error)
		options []contactbase.RequestOption
		want    int
		fails   bool
	}{
		"at once":                       {[]func() (*http.Response, error){done}, nil, 1, false},
		"too many requests":             {[]func() (*http.Response, error){refusal(429, "rate_limited"), done}, nil, 2, false},
		"unavailable":                   {[]func() (*http.Response, error){refusal(503, "unavailable"), done}, nil, 2, false},
		"a proxy without upstream":      {[]func() (*http.Response, error){answer(502, ""), answer(504, ""), done}, nil, 3, false},
		"reset":                         {[]func() (*http.Response, error){reset, reset, reset, done}, nil, 4, false},
		"half an answer":                {[]func() (*http.Response, error){broken, done}, nil, 2, false},
		"the first try still runs":      {[]func() (*http.Response, error){reset, refusal(409, "idempotency_key_in_use"), done}, nil, 3, false},
		"another conflict":              {[]func() (*http.Response, error){refusal(409, "in_use"), done}, nil, 1, true},
		"invalid":                       {[]func() (*http.Response, error){refusal(400, "validation_failed"), done}, nil, 1, true},
		"an error of the installation":  {[]func() (*http.Response, error){refusal(500, "internal_error"), done}, nil, 1, true},
		"a wrong certificate":           {[]func() (*http.Response, error){failure(&tls.CertificateVerificationError{Err: errors.New("expired")}), done}, nil, 1, true},
		"never":                         {[]func() (*http.Response, error){reset}, nil, 9, true},
		"a condition, unavailable":      {[]func() (*http.Response, error){refusal(503, "unavailable"), done}, condition, 2, false},
		"unreplicated":                  {[]func() (*http.Response, error){refusal(503, "unreplicated"), done}, nil, 2, false},
		"a condition, unreplicated":     {[]func() (*http.Response, error){refusal(503, "unreplicated"), done}, condition, 1, true},
		"a condition, not connected":    {[]func() (*http.Response, error){failure(&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}), done}, condition, 2, false},
		"a condition, reset":            {[]func() (*http.Response, error){reset, done}, condition, 1, true},
		"a condition, behind a proxy":   {[]func() (*http.Response, error){answer(502, ""), done}, condition, 1, true},
		"a condition, half of its body": {[]func() (*http.Response, error){broken, done}, condition, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				requests, err := tries(t, c.options, c.answers...)
				if len(requests) != c.want || (err != nil) != c.fails {
					t.Fatalf("%v after %d tries, want %d", err, len(requests), c.want)
				}
				checkSame(t, requests)
			})
		})
	}
}

// The error of a conditional write without a response says that the change may be stored.
func TestLostResponse(t *testing.T) {
	t.Parallel()
	const says = "the change may be stored, so read the contact again: "
	for err, want := range map[error]bool{
		syscall.ECONNRESET: true, context.DeadlineExceeded: true, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}: false,
		&tls.CertificateVerificationError{Err: errors.New("expired")}: false,
	} {
		for _, option := range []contactbase.RequestOption{contactbase.IfMatch(`"v1"`), contactbase.OnlyCreate()} {
			synctest.Test(t, func(t *testing.T) {
				_, got := tries(t, []contactbase.RequestOption{option}, failure(err))
				if !errors.Is(got, err) || strings.Contains(got.Error(), says) != want {
					t.Errorf("%v becomes %v", err, got)
				}
			})
		}
	}
}

// checkSame makes sure that the installation can tell that all requests are one.
func checkSame(t *testing.T, requests []sent) {
	t.Helper()
	key, body := requests[0].Header.Get("Idempotency-Key"), requests[0].body
	if key == "" {
		t.Error("there is no Idempotency-Key")
	}
	for _, again := range requests {
		if again.Header.Get("Idempotency-Key") != key || again.body != body {
			t.Errorf("%s is sent again as %s, with the key %s after %s", body, again.body, again.Header.Get("Idempotency-Key"), key)
		}
	}
}

// Two calls are two contacts, unless the caller says that they are the same.
func TestIdempotencyKeys(t *testing.T) {
	t.Parallel()
	client, n := newClient(t, answer(http.StatusCreated, adaAnswer))
	for _, options := range [][]contactbase.RequestOption{nil, nil, {contactbase.IdempotencyKey("order-1")}} {
		if _, err := client.Contacts.Create(t.Context(), contactbase.Fields{}, options...); err != nil {
			t.Fatal(err)
		}
	}
	first, second, third := n.sent[0].Header.Get("Idempotency-Key"), n.sent[1].Header.Get("Idempotency-Key"), n.sent[2].Header.Get("Idempotency-Key")
	if len(first) < 20 || first == second || third != "order-1" {
		t.Errorf("the keys are %q, %q and %q", first, second, third)
	}
}

// The pauses grow up to a bound, and no two clients have the same.
func TestPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		first, err := tries(t, nil, answer(http.StatusServiceUnavailable, ""))
		second, _ := tries(t, nil, answer(http.StatusServiceUnavailable, ""))
		if err == nil || len(first) != 9 {
			t.Fatalf("%v after %d tries", err, len(first))
		}
		same, most := 0, 250*time.Millisecond
		for i := range 8 {
			pause := first[i+1].at.Sub(first[i].at)
			if pause < most/2 || pause > most {
				t.Errorf("pause %d takes %s, want %s to %s", i, pause, most/2, most)
			}
			if second[i+1].at.Sub(second[i].at) == pause {
				same++
			}
			most = min(2*most, 8*time.Second)
		}
		if same == 8 {
			t.Error("two clients pause alike")
		}
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]func() string{
		"seconds": func() string { return "30" },
		"a date":  func() string { return time.Now().Add(30 * time.Second).UTC().Format(http.TimeFormat) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				_, err := tries(t, nil, refusal(429, "rate_limited", "Retry-After", after()), answer(http.StatusCreated, adaAnswer))
				if took := time.Since(began); err != nil || took < 30*time.Second || took > 31*time.Second {
					t.Errorf("%v after %s", err, took)
				}
			})
		})
	}
}

// A long Retry-After is returned as an error immediately.
func TestLongRetryAfter(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		requests, err := tries(t, nil, refusal(429, "rate_limited", "Retry-After", "3600"))
		var refused *contactbase.Error
		if !errors.As(err, &refused) || refused.RetryAfter != time.Hour || len(requests) != 1 {
			t.Errorf("%v after %d tries", err, len(requests))
		}
	})
}

func TestNoRetries(t *testing.T) {
	t.Parallel()
	n := &network{answers: []func() (*http.Response, error){refusal(503, "unavailable")}}
	client, err := contactbase.New("https://crm.example.com", "cmk_1", contactbase.WithHTTPClient(&http.Client{Transport: n}), contactbase.WithMaxRetries(0))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Contacts.Get(t.Context(), "x1"); err == nil || len(n.sent) != 1 {
		t.Errorf("%v after %d tries", err, len(n.sent))
	}
}

// A context that ends ends the pause too.
func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, _ := newClient(t, refusal(429, "rate_limited", "Retry-After", "30"))
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Second, cancel)
		_, err := client.Contacts.Get(ctx, "x1")
		if took := time.Since(began); !errors.Is(err, context.Canceled) || took != time.Second {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// Where the deadline comes before the next try, the error is the reason and not the deadline.
func TestDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, _ := newClient(t, refusal(429, "rate_limited", "Retry-After", "30"))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		_, err := client.Contacts.Get(ctx, "x1")
		var refused *contactbase.Error
		if !errors.As(err, &refused) || refused.Code != contactbase.CodeRateLimited || time.Since(began) != 0 {
			t.Errorf("%v after %s", err, time.Since(began))
		}
	})
}
