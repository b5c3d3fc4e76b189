package contactbase_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	contactbase "contactbase/clients/go"
)

const (
	adaJSON = `{"id":"0mm8yqpxck3w9xa","name":"Ada Lovelace","email":null,"phone":null,"company":null,"externalId":"crm-1815",` +
		`"createdAt":"2026-03-02T09:15:04.512Z","updatedAt":"2026-03-04T16:20:11.087Z","newsletter":true}`
	adaAnswer = `{"data":` + adaJSON + `}`
)

// sent is a request that arrived.
type sent struct {
	*http.Request
	body string
	at   time.Time
}

// network answers requests with what it is given, one after the other, and the last of it for ever.
type network struct {
	answers []func() (*http.Response, error)

	mu   sync.Mutex
	sent []sent
}

func (n *network) RoundTrip(request *http.Request) (*http.Response, error) {
	body := ""
	if request.Body != nil {
		read, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		body = string(read)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sent = append(n.sent, sent{request, body, time.Now()})
	answer, err := n.answers[min(len(n.sent), len(n.answers))-1]()
	if answer != nil {
		answer.Request = request
	}
	return answer, err
}

// answer is an answer with headers, which are names and values in turn.
func answer(status int, body string, headers ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		header := http.Header{}
		for i := 0; i < len(headers); i += 2 {
			header.Add(headers[i], headers[i+1])
		}
		return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

// failure is no answer at all.
func failure(err error) func() (*http.Response, error) {
	return func() (*http.Response, error) { return nil, err }
}

// broken is an answer whose connection ends within the body.
func broken() (*http.Response, error) {
	body := io.MultiReader(strings.NewReader(adaAnswer[:20]), failing{})
	return &http.Response{StatusCode: http.StatusCreated, Header: http.Header{}, Body: io.NopCloser(body)}, nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func refusal(status int, code string, headers ...string) func() (*http.Response, error) {
	return answer(status, `{"error":{"code":"`+code+`","message":"No.","requestId":"r1"}}`, headers...)
}

func newClient(t *testing.T, answers ...func() (*http.Response, error)) (*contactbase.Client, *network) {
	t.Helper()
	n := &network{answers: answers}
	client, err := contactbase.New("https://crm.example.com", "cmk_1", contactbase.WithHTTPClient(&http.Client{Transport: n}))
	if err != nil {
		t.Fatal(err)
	}
	return client, n
}

func TestNew(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, key string }{
		{"", "cmk_1"}, {"crm.example.com", "cmk_1"}, {"localhost:8090", "cmk_1"}, {"ftp://crm.example.com", "cmk_1"},
		{"https://", "cmk_1"}, {"https://crm.example.com", ""}, {"https://crm.example.com", " \n"},
	} {
		if _, err := contactbase.New(c.address, c.key); err == nil {
			t.Errorf("New(%q, %q) succeeds", c.address, c.key)
		}
	}
	n := &network{answers: []func() (*http.Response, error){answer(http.StatusOK, adaAnswer)}}
	client, err := contactbase.New("http://127.0.0.1:8090/crm/", "cmk_1\n", contactbase.WithHTTPClient(&http.Client{Transport: n}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Contacts.Get(t.Context(), "a/b"); err != nil {
		t.Fatal(err)
	}
	request := n.sent[0]
	if got := request.URL.String(); got != "http://127.0.0.1:8090/crm/api/ext/v1/contacts/a%2Fb" {
		t.Errorf("the address is %s", got)
	}
	if got := request.Header.Get("Authorization"); got != "Bearer cmk_1" {
		t.Errorf("the key is sent as %q", got)
	}
}

// Each call sends exactly the parameters and fields it was given.
func TestCalls(t *testing.T) {
	t.Parallel()
	fields := contactbase.Fields{Name: contactbase.String("Ada"), Phone: contactbase.String(""), Custom: map[string]any{"vip": nil}}
	const written = `{"name":"Ada","phone":"","vip":null}`
	batch := contactbase.Batch{Atomic: true, Items: []contactbase.BatchItem{
		{Action: contactbase.ActionUpdate, ID: "x1", Contact: fields},
		{Action: contactbase.ActionUpsert, Match: contactbase.MatchEmail},
	}}
	for _, c := range []struct {
		call         func(*contactbase.Contacts) error
		method, path string
		body         string
		header       map[string]string
	}{
		{func(c *contactbase.Contacts) error {
			_, err := c.Create(t.Context(), fields, contactbase.IdempotencyKey("order-1"), contactbase.RequestID("r7"))
			return err
		}, "POST", "", written, map[string]string{"Idempotency-Key": "order-1", "X-Request-Id": "r7"}},
		{func(c *contactbase.Contacts) error {
			_, err := c.Update(t.Context(), "x1", fields, contactbase.IfMatch(`"v1"`))
			return err
		}, "PATCH", "/x1", written, map[string]string{"If-Match": `"v1"`, "Idempotency-Key": ""}},
		{func(c *contactbase.Contacts) error {
			_, err := c.Upsert(t.Context(), "crm/18 15", fields, contactbase.OnlyCreate())
			return err
		}, "PUT", "/by-external-id/crm%2F18%2015", written, map[string]string{"If-None-Match": "*", "Idempotency-Key": ""}},
		{func(c *contactbase.Contacts) error {
			_, err := c.Merge(t.Context(), "x1", contactbase.Merge{From: []string{"x2"}, Fields: map[string]string{"email": "x2"}})
			return err
		}, "POST", "/x1/merge", `{"dryRun":false,"fields":{"email":"x2"},"from":["x2"]}`, nil},
		{func(c *contactbase.Contacts) error {
			return c.Delete(t.Context(), "a/b", contactbase.IfMatch(`"v1"`))
		}, "DELETE", "/a%2Fb", "", map[string]string{"If-Match": `"v1"`, "Idempotency-Key": ""}},
		{func(c *contactbase.Contacts) error {
			_, err := c.Batch(t.Context(), batch)
			return err
		}, "POST", "/batch", `{"atomic":true,"items":[{"action":"update","contact":` + written +
			`,"id":"x1"},{"action":"upsert","contact":{},"match":"email"}]}`, nil},
	} {
		status := http.StatusOK
		if c.method == http.MethodDelete {
			status = http.StatusNoContent
		}
		client, n := newClient(t, answer(status, `{"data":{"id":"x1","results":[]}}`))
		if err := c.call(client.Contacts); err != nil {
			t.Error(err)
			continue
		}
		n.sent[0].check(t, c.method+" /api/ext/v1/contacts"+c.path, c.body, c.header)
	}
}

func (s sent) check(t *testing.T, line, body string, header map[string]string) {
	t.Helper()
	if got := s.Method + " " + s.URL.EscapedPath(); got != line {
		t.Errorf("%s, want %s", got, line)
	}
	if s.body != body {
		t.Errorf("%s sends %s, want %s", line, s.body, body)
	}
	for name, want := range header {
		if got := s.Header.Get(name); got != want {
			t.Errorf("%s has %s %q, want %q", line, name, got, want)
		}
	}
}

// A deletion that may have been applied has succeeded if a retry does not find the contact.
func TestDelete(t *testing.T) {
	t.Parallel()
	gone, done := refusal(http.StatusNotFound, "not_found"), answer(http.StatusNoContent, "")
	for name, c := range map[string]struct {
		answers []func() (*http.Response, error)
		code    string
	}{
		"at once":             {[]func() (*http.Response, error){done}, ""},
		"unknown":             {[]func() (*http.Response, error){gone}, "not_found"},
		"merged":              {[]func() (*http.Response, error){refusal(http.StatusConflict, "merged_contact")}, contactbase.CodeMergedContact},
		"limited, unknown":    {[]func() (*http.Response, error){refusal(http.StatusTooManyRequests, "rate_limited"), gone}, "not_found"},
		"interrupted, gone":   {[]func() (*http.Response, error){failure(syscall.ECONNRESET), gone}, ""},
		"unreplicated, gone":  {[]func() (*http.Response, error){refusal(http.StatusServiceUnavailable, "unreplicated"), gone}, ""},
		"interrupted, merged": {[]func() (*http.Response, error){failure(syscall.ECONNRESET), refusal(http.StatusConflict, "merged_contact")}, "merged_contact"},
	} {
		client, _ := newClient(t, c.answers...)
		err := client.Contacts.Delete(t.Context(), "x1")
		var refused *contactbase.Error
		if errors.As(err, &refused); c.code == "" && err != nil || c.code != "" && (refused == nil || refused.Code != c.code) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What no header can hold is refused before anything is sent.
func TestControlCharacters(t *testing.T) {
	t.Parallel()
	client, n := newClient(t, answer(http.StatusCreated, adaAnswer))
	if _, err := client.Contacts.Create(t.Context(), contactbase.Fields{}, contactbase.IdempotencyKey("a\nb")); err == nil || len(n.sent) > 0 {
		t.Errorf("%v after %d requests", err, len(n.sent))
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t, answer(http.StatusBadRequest, `{"error":{"code":"batch_failed","message":"One failed.","requestId":"r1",
		"fields":{"phone":{"code":"invalid_phone","message":"is not a number"},"email":{"code":"required","message":"is missing"}},
		"results":[{"index":0,"status":"failed","error":{"code":"not_found","message":"Nobody."}}]}}`))
	_, err := client.Contacts.Batch(t.Context(), contactbase.Batch{})
	var refused *contactbase.Error
	if !errors.As(err, &refused) {
		t.Fatalf("%T %v", err, err)
	}
	if refused.Status != http.StatusBadRequest || refused.Code != contactbase.CodeBatchFailed || refused.RequestID != "r1" {
		t.Errorf("%+v", refused)
	}
	if refused.Fields["phone"] != (contactbase.FieldError{Code: "invalid_phone", Message: "is not a number"}) {
		t.Errorf("the fields are %v", refused.Fields)
	}
	if len(refused.Results) != 1 || refused.Results[0].Error.Code != contactbase.CodeNotFound || refused.Results[0].Contact != nil {
		t.Errorf("the results are %+v", refused.Results)
	}
	const text = "contactbase: 400 batch_failed: One failed.; email is missing; phone is not a number (request r1)"
	if got := err.Error(); got != text {
		t.Errorf("%q", got)
	}
}

// An installation names the fields in its message, which then says all.
func TestErrorsNameFieldsOnce(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t, answer(http.StatusBadRequest, `{"error":{"code":"validation_failed","message":"The contact is invalid: email: is missing.",
		"fields":{"email":{"code":"required","message":"is missing"}}}}`))
	_, err := client.Contacts.Get(t.Context(), "x1")
	if err == nil || err.Error() != "contactbase: 400 validation_failed: The contact is invalid: email: is missing." {
		t.Errorf("%v", err)
	}
}

// Not everything that answers is an installation.
func TestStrangers(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t, answer(http.StatusForbidden, "<h1>Blocked</h1>", "X-Request-Id", "proxy-1"))
	_, err := client.Contacts.Get(t.Context(), "x1")
	var refused *contactbase.Error
	if !errors.As(err, &refused) || refused.Status != http.StatusForbidden || refused.Code != "" || refused.Message != "Forbidden" || refused.RequestID != "proxy-1" {
		t.Errorf("%T %v", err, err)
	}
	if got := err.Error(); got != "contactbase: 403 Forbidden (request proxy-1)" {
		t.Errorf("%q", got)
	}
	client, _ = newClient(t, answer(http.StatusTeapot, ""))
	if _, err := client.Contacts.Get(t.Context(), "x1"); err == nil || err.Error() != "contactbase: 418 I'm a teapot" {
		t.Errorf("%v", err)
	}
	client, _ = newClient(t, answer(http.StatusOK, "<h1>Welcome</h1>"))
	if _, err := client.Contacts.Get(t.Context(), "x1"); err == nil || errors.As(err, &refused) && refused.Status == http.StatusOK ||
		!strings.Contains(err.Error(), "crm.example.com") {
		t.Errorf("%T %v", err, err)
	}
}

// The key stays with the origin of the address: of redirects, only those within it are followed.
func TestRedirects(t *testing.T) {
	t.Parallel()
	for target, requests := range map[string]int{
		"https://crm.example.com/elsewhere": 2, "/elsewhere": 2, "https://crm.example.com:8443/": 1,
		"http://crm.example.com/": 1, "https://api.crm.example.com/": 1, "https://example.org/": 1,
	} {
		n := &network{answers: []func() (*http.Response, error){answer(http.StatusMovedPermanently, "", "Location", target), answer(http.StatusOK, adaAnswer)}}
		client, err := contactbase.New("https://crm.example.com", "cmk_1", contactbase.WithHTTPClient(&http.Client{Transport: n}))
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Contacts.Get(t.Context(), "x")
		var refused *contactbase.Error
		if len(n.sent) != requests || (requests == 1) != (errors.As(err, &refused) && refused.Status == http.StatusMovedPermanently) {
			t.Errorf("a redirect to %s makes %d requests, %v", target, len(n.sent), err)
		}
	}
}
