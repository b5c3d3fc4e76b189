package delivery_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"contactbase/internal/delivery"
	"contactbase/internal/safehttp"
	"contactbase/internal/secret"
)

// job returns a job for the address.
func job(url string) *delivery.Job {
	return &delivery.Job{
		DeliveryID: "delivery1",
		Attempt:    3,
		EventID:    "event1",
		EventType:  "contact.updated",
		Payload:    []byte(`{"id":"evt_event1"}`),
		Endpoint:   &delivery.Endpoint{WebhookID: "webhook1", URL: url, Secrets: []string{"a typed secret"}},
	}
}

func TestSenderSendsTheContract(t *testing.T) {
	t.Parallel()
	var got *http.Request
	var body []byte
	url := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		got = r
		body, _ = io.ReadAll(r.Body)
	})
	sent := job(url + "/hook?token=abc")
	previous := secret.New()
	sent.Endpoint.Secrets = []string{secret.New(), previous}
	sent.Endpoint.Headers = map[string]string{"Authorization": "Bearer hunter2", "X-Signature": "forged"}
	attempt := sender().Send(t.Context(), sent)
	if !attempt.Outcome.Success() || attempt.Status != 200 || attempt.Error != "" {
		t.Fatalf("got %+v", attempt)
	}

	if got.Method != http.MethodPost || got.URL.RequestURI() != "/hook?token=abc" || string(body) != string(sent.Payload) {
		t.Errorf("got %s %s with %q", got.Method, got.URL, body)
	}
	for name, want := range map[string]string{
		"Content-Type":    "application/json",
		"Content-Length":  strconv.Itoa(len(sent.Payload)),
		"User-Agent":      "Contactbase/1.2.3",
		"X-Signature":     delivery.Sign(sent.Endpoint.Secrets[0], body),
		"Webhook-Id":      "evt_event1",
		"X-Event":         "contact.updated",
		"X-Delivery":      "delivery1",
		"X-Attempt":       "3",
		"Authorization":   "Bearer hunter2",
		"Accept-Encoding": "",
		"Idempotency-Key": "",
	} {
		if value := got.Header.Get(name); value != want {
			t.Errorf("%s: %q, want %q", name, value, want)
		}
	}
	for _, plain := range sent.Endpoint.Secrets {
		verifier, err := standardwebhooks.NewWebhook(plain)
		if err != nil {
			t.Fatal(err)
		}
		if err := verifier.Verify(body, got.Header); err != nil {
			t.Errorf("the Standard Webhooks headers: %v", err)
		}
	}

	stored := map[string]string{}
	if err := json.Unmarshal([]byte(attempt.RequestHeaders), &stored); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(attempt.RequestHeaders, "hunter2") || stored["Authorization"] != "[redacted]" {
		t.Errorf("the stored headers hold a secret: %s", attempt.RequestHeaders)
	}
	if stored["X-Event"] != "contact.updated" || stored["Webhook-Id"] != "evt_event1" {
		t.Errorf("the stored headers are %s", attempt.RequestHeaders)
	}
}

func TestSenderOutcomes(t *testing.T) {
	t.Parallel()
	answer := func(status int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i+1 < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(status)
		}
	}
	for _, c := range []struct {
		what    string
		handler http.HandlerFunc
		status  int
		failure delivery.Failure
		fault   string // a part of it
		body    string
	}{
		{"200", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "thanks") }, 200, delivery.FailureNone, "", "thanks"},
		{"204", answer(204), 204, delivery.FailureNone, "", ""},
		{"301", answer(301, "Location", "/elsewhere"), 301, delivery.FailureNone, "", ""},
		{"307", answer(307, "Location", "/elsewhere"), 307, delivery.FailureNone, "", ""},
		{"400", answer(400), 400, delivery.FailureNone, "", ""},
		{"404", answer(404), 404, delivery.FailureNone, "", ""},
		{"410", answer(410), 410, delivery.FailureNone, "", ""},
		{"500", answer(500), 500, delivery.FailureNone, "", ""},
		{"503", answer(503), 503, delivery.FailureNone, "", ""},
		{"no text", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("a\xff\x00b")) }, 200, delivery.FailureNone, "", "a\uFFFD\uFFFDb"},
		{"connection closed", func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, delivery.FailureNetwork, "connection closed", ""},
		{"connection reset", reset, 0, delivery.FailureNetwork, "connection", ""},
		{"body broken off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, "half")
		}, 200, delivery.FailureNetwork, "closed before the response was complete", "half"},
		{"no HTTP", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = io.WriteString(conn, "220 smtp.example.com ESMTP\r\n")
			_ = conn.Close()
		}, 0, delivery.FailureNetwork, "malformed HTTP", ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			attempt := sender().Send(t.Context(), job(receiver(t, c.handler)))
			if attempt.Status != c.status || attempt.Outcome.Status != c.status || attempt.Outcome.Failure != c.failure {
				t.Errorf("got %d, %+v", attempt.Status, attempt.Outcome)
			}
			if attempt.Outcome.Success() != (c.failure == delivery.FailureNone && c.status/100 == 2) {
				t.Errorf("success: %v", attempt.Outcome.Success())
			}
			if (attempt.Error == "") != (c.fault == "") || !strings.Contains(attempt.Error, c.fault) {
				t.Errorf("the error is %q, want %q in it", attempt.Error, c.fault)
			}
			if attempt.ResponseBody != c.body {
				t.Errorf("the body is %q, want %q", attempt.ResponseBody, c.body)
			}
			if attempt.DeliveryID != "delivery1" || attempt.Number != 3 || attempt.Started.IsZero() {
				t.Errorf("got %+v", attempt)
			}
		})
	}
}

// reset ends the connection with a reset instead of an orderly close.
func reset(w http.ResponseWriter, _ *http.Request) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.(*net.TCPConn).SetLinger(0)
	_ = conn.Close()
}

func TestSenderReadsRetryAfter(t *testing.T) {
	t.Parallel()
	retryAfter := func(value string) time.Duration {
		url := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", value)
			w.WriteHeader(http.StatusTooManyRequests)
		})
		return sender().Send(t.Context(), job(url)).Outcome.RetryAfter
	}
	if got := retryAfter("120"); got != 2*time.Minute {
		t.Errorf("seconds: got %v", got)
	}
	in := time.Now().Add(time.Hour)
	if got := retryAfter(in.UTC().Format(http.TimeFormat)); got <= 0 || got > time.Hour {
		t.Errorf("a date: got %v", got)
	}
}

func TestSenderGivesUpInTime(t *testing.T) {
	t.Parallel()
	for what, handler := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // without, the server does not notice that the client has gone
			<-r.Context().Done()
		},
		"half an answer": func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			impatient := sender()
			impatient.SetTimeout(200 * time.Millisecond)
			attempt := impatient.Send(t.Context(), job(receiver(t, handler)))
			if attempt.Outcome.Failure != delivery.FailureTimeout || attempt.Outcome.Success() || !strings.Contains(attempt.Error, "no complete response within 200ms") {
				t.Errorf("got %q, %+v", attempt.Error, attempt.Outcome)
			}
		})
	}
}

func TestSenderIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	url := receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		cancel()
		<-r.Context().Done()
	})
	if attempt := sender().Send(ctx, job(url)); attempt.Error != "interrupted" || attempt.Outcome.Success() {
		t.Errorf("got %q", attempt.Error)
	}
}

func TestSenderKeepsTheStartOfALargeAnswer(t *testing.T) {
	t.Parallel()
	for what, size := range map[string]int{"as much as is kept": 16 << 10, "more than is kept": 100 << 10, "more than is read": 3 << 20} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			url := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, strings.Repeat("é", size/2))
			})
			attempt := sender().Send(t.Context(), job(url))
			if !attempt.Outcome.Success() || attempt.Error != "" {
				t.Errorf("got %q, %+v", attempt.Error, attempt.Outcome)
			}
			if len(attempt.ResponseBody) != 16<<10 || !utf8.ValidString(attempt.ResponseBody) {
				t.Errorf("kept %d bytes", len(attempt.ResponseBody))
			}
		})
	}
}

func TestSenderRedactsCookiesOfTheAnswer(t *testing.T) {
	t.Parallel()
	url := receiver(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Set-Cookie", "session=hunter2")
		w.Header()["X-Many"] = []string{"a", "b"}
	})
	attempt := sender().Send(t.Context(), job(url))
	stored := map[string]string{}
	if err := json.Unmarshal([]byte(attempt.ResponseHeaders), &stored); err != nil {
		t.Fatal(err)
	}
	if stored["Set-Cookie"] != "[redacted]" || stored["X-Many"] != "a, b" {
		t.Errorf("got %s", attempt.ResponseHeaders)
	}
}

// Only an address to forward to may name a user: those of webhooks are refused.
func TestSenderNamesTheUserOfTheURL(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		asked <- user + " " + password
	}))
	defer receiver.Close()
	attempt := sender().Send(t.Context(), job(strings.Replace(receiver.URL, "http://", "http://ada:engine@", 1)))
	if attempt.Outcome.Failure != delivery.FailureNone {
		t.Fatalf("it fails: %+v", attempt)
	}
	if got := <-asked; got != "ada engine" {
		t.Errorf("the receiver is asked by %q", got)
	}
	if strings.Contains(attempt.RequestHeaders, "Authorization") {
		t.Errorf("the headers that are kept are %s", attempt.RequestHeaders)
	}
}

func TestSenderNamesWhatIsWrong(t *testing.T) {
	t.Parallel()
	encrypted := httptest.NewUnstartedServer(http.NotFoundHandler())
	encrypted.Config.ErrorLog = log.New(io.Discard, "", 0) // it reports the handshake that fails
	encrypted.StartTLS()
	t.Cleanup(encrypted.Close)
	plain := receiver(t, func(http.ResponseWriter, *http.Request) {})
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = closed.Close()
	unresolvable := safehttp.New(safehttp.Options{Resolver: &net.Resolver{
		PreferGo: true,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, errors.New("no name server")
		},
	}})
	for _, c := range []struct {
		what   string
		client *http.Client
		url    string
		want   string
	}{
		{"unknown authority", client(), encrypted.URL, "tls: the certificate is not valid (x509: certificate signed by unknown authority); if it is of your own authority, start the program with SSL_CERT_FILE, which names a file with the authority's certificate"},
		{"no TLS", client(), strings.Replace(plain, "http:", "https:", 1), "tls: the endpoint does not speak TLS on this port"},
		{"refused", client(), "http://" + closed.Addr().String(), "connection refused"},
		{"unknown name", client(), "http://hooks.example.256/", "dns: the host hooks.example.256 does not exist"},
		{"no DNS", unresolvable, "http://hooks.example.com/", "dns: the host hooks.example.com could not be resolved"},
		{"blocked", client(), "http://169.254.169.254/latest?token=hunter2", "blocked address: 169.254.169.254:80 is not a public address; to let webhooks reach it, start the server or command with --webhookAllow 169.254.169.254/32"},
		{"malformed", client(), "http://exa mple.com/?token=hunter2", "invalid character"},
	} {
		t.Run(c.what, func(t *testing.T) {
			t.Parallel()
			attempt := delivery.NewSender(c.client, "1.2.3").Send(t.Context(), job(c.url))
			if !strings.Contains(attempt.Error, c.want) {
				t.Errorf("got %q, want %q", attempt.Error, c.want)
			}
			if strings.Contains(attempt.Error, "hunter2") {
				t.Errorf("the error repeats the URL: %s", attempt.Error)
			}
			if attempt.Outcome.Failure == delivery.FailureNone || attempt.Status != 0 || attempt.ResponseHeaders != "{}" {
				t.Errorf("got %+v", attempt)
			}
		})
	}
}

func TestSenderDoesNotSendUnsigned(t *testing.T) {
	t.Parallel()
	url := receiver(t, func(http.ResponseWriter, *http.Request) { t.Error("something was sent") })
	unsigned := job(url)
	unsigned.Endpoint.Fault = errors.New("a secret is encrypted, but the program has no encryption key")
	unsigned.Endpoint.Secrets = nil
	attempt := sender().Send(t.Context(), unsigned)
	if attempt.Outcome.Failure != delivery.FailureLocal || attempt.Error != unsigned.Endpoint.Fault.Error() {
		t.Errorf("got %+v", attempt)
	}
}

func TestAttemptJSON(t *testing.T) {
	t.Parallel()
	attempt := &delivery.Attempt{
		DeliveryID: "d1", Number: 1, Started: time.Date(2026, 3, 4, 16, 20, 11, 87e6, time.UTC), Duration: 84 * time.Millisecond, Status: 204,
		RequestHeaders: `{"X-Event":"webhook.ping"}`, ResponseHeaders: `{}`,
	}
	const want = `{"delivery":"d1","number":1,"started":"2026-03-04T16:20:11.087Z","durationMs":84,"status":204,"error":null,` +
		`"requestHeaders":{"X-Event":"webhook.ping"},"responseHeaders":{},"responseBody":""}`
	if got, err := json.Marshal(attempt); err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	attempt.Status, attempt.Error = 0, "connection refused"
	if got, err := json.Marshal(attempt); err != nil || !strings.Contains(string(got), `"status":null,"error":"connection refused"`) {
		t.Errorf("got %s, %v", got, err)
	}
}
