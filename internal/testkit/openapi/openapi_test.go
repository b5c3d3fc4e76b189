package openapi

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

const (
	adaJSON = `{"id":"0mm8yqpxck3w9xa","name":"Ada","email":"ada@example.com","phone":"+442079460958","company":null,` +
		`"externalId":null,"newsletter":true,"createdAt":"2026-03-02T09:15:04.512Z","updatedAt":"2026-03-02T09:15:04.512Z"}`
	oneCreated = `{"data":{"created":1,"updated":0,"unchanged":0,"deleted":0,"ignored":0,"failed":0,` +
		`"results":[{"index":0,"status":"created","id":"0mm8yqpxck3w9xa"}]}}`
)

// recorder is a testing.TB that records failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
}

// exchange is a request and its response in a test table. Headers are "name: value".
type exchange struct {
	request     string // method and target
	headers     []string
	body        string
	status      int
	answered    []string // beside those that every answer has
	without     string   // a header that the answer lacks
	answer      string
	contradicts string // part of the failure; empty: it is as described
}

func (e *exchange) validate(t *testing.T) []string {
	t.Helper()
	method, target, _ := strings.Cut(e.request, " ")
	req := httptest.NewRequest(method, target, nil)
	if e.body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	setHeaders(req.Header, e.headers)
	res := &http.Response{StatusCode: e.status, Header: http.Header{}}
	setHeaders(res.Header, []string{"Content-Type: application/json", "X-Request-Id: 12345"})
	if strings.HasPrefix(target, "/api/ext/") {
		setHeaders(res.Header, []string{`RateLimit-Policy: "key";q=600;w=60`, `RateLimit: "key";r=99;t=1`, "Cache-Control: no-store", "Vary: Authorization, X-API-Key"})
	}
	setHeaders(res.Header, e.answered)
	res.Header.Del(e.without)
	tb := &recorder{TB: t}
	ValidateExchange(tb, req, []byte(e.body), res, []byte(e.answer))
	return tb.failures
}

func setHeaders(header http.Header, lines []string) {
	for _, line := range lines {
		name, value, _ := strings.Cut(line, ": ")
		header.Set(name, value)
	}
}

func failure(code string) string {
	return `{"error":{"code":"` + code + `","message":"No.","requestId":"12345"}}`
}

func fieldFailure(code, field, fieldCode string) string {
	return `{"error":{"code":"` + code + `","message":"No.","requestId":"12345","fields":{"` + field + `":{"code":"` + fieldCode + `","message":"No."}}}}`
}

func TestValidateExchange(t *testing.T) {
	t.Parallel()
	const contacts, ada, hook, admin = "/api/ext/v1/contacts", "/api/ext/v1/contacts/0mm8yqpxck3w9xa", "/api/hooks/cmi_x", "/api/integrations"
	location := []string{"Location: https://crm.example.com" + ada, `ETag: "5b1f0c9a7d3e2f48"`}
	tag := []string{`ETag: "5b1f0c9a7d3e2f48"`}
	list := `{"data":[` + adaJSON + `],"hasMore":false}`
	one := `{"data":` + adaJSON + `}`
	cases := map[string]exchange{
		// as described
		"list":                     {request: "GET " + contacts, status: 200, answer: list},
		"list with parameters":     {request: "GET " + contacts + "?limit=500&q=a%2Fb%26c&email=ada%40example.com&phone=%2B44&sort=-name&updatedSince=2026-03-01T00:00:00%2B01:00", status: 200, answer: list},
		"list head":                {request: "HEAD " + contacts, status: 200},
		"list head as recorded":    {request: "HEAD " + contacts, status: 200, answer: list},
		"head unauthorized":        {request: "HEAD " + contacts, status: 401, answered: []string{"WWW-Authenticate: Bearer"}},
		"head, no method":          {request: "HEAD " + admin + "/keys/a/rotate", status: 405, answered: []string{"Allow: POST"}},
		"bad parameter":            {request: "GET " + contacts + "?limit=ten", status: 400, answer: fieldFailure("invalid_parameter", "limit", "invalid_value")},
		"no key":                   {request: "GET " + contacts, status: 401, answered: []string{"WWW-Authenticate: Bearer"}, without: "RateLimit", answer: failure("missing_api_key")},
		"limited":                  {request: "GET " + contacts, status: 429, answered: []string{"Retry-After: 7"}, answer: failure("rate_limited")},
		"create":                   {request: "POST " + contacts, body: `{"name":"Ada","id":7}`, status: 201, answered: location, answer: one},
		"create +json":             {request: "POST " + contacts, headers: []string{"Content-Type: application/merge-patch+json"}, body: `{"name":"Ada"}`, status: 201, answered: location, answer: one},
		"create with charset":      {request: "POST " + contacts, headers: []string{"Content-Type: application/json; charset=utf-8"}, body: `{"name":"Ada"}`, status: 201, answered: location, answer: one},
		"create, custom field":     {request: "POST " + contacts, body: `{"name":"Ada","newsletter":true}`, status: 201, answered: location, answer: one},
		"replayed":                 {request: "POST " + contacts, headers: []string{"Idempotency-Key: a"}, body: `{"name":"Ada"}`, status: 201, answered: append(slices.Clone(location), "Idempotency-Replayed: true"), answer: one},
		"refused, wrong on intent": {request: "POST " + contacts, headers: []string{"Content-Type: text/plain"}, body: `<`, status: 415, answer: failure("unsupported_media_type")},
		"refused field":            {request: "POST " + contacts, body: `{"email":1}`, status: 400, answer: fieldFailure("validation_failed", "email", "invalid_type")},
		"read":                     {request: "GET " + ada, status: 200, answered: tag, answer: one},
		"not modified":             {request: "GET " + ada, headers: []string{`If-None-Match: "a"`}, status: 304, answered: tag},
		"unknown contact":          {request: "GET " + ada, status: 404, answer: failure("not_found")},
		"patch":                    {request: "PATCH " + ada, body: `{"phone":null}`, status: 200, answered: tag, answer: one},
		"stale":                    {request: "PATCH " + ada, body: `{"phone":null}`, status: 412, answer: failure("precondition_failed")},
		"wrong method":             {request: "PUT " + ada, status: 405, answered: []string{"Allow: DELETE, GET, HEAD, PATCH"}, answer: failure("method_not_allowed")},
		"unknown path":             {request: "GET /api/ext/v1/deals", status: 404, answer: failure("not_found")},
		"trailing slash":           {request: "GET " + contacts + "/", status: 404, answer: failure("not_found")},
		"probe":                    {request: "GET " + hook, status: 200, answer: `{"data":{"status":"ready"}}`},
		"inbound":                  {request: "POST " + hook, body: `{"email":"ada@example.com","utm":{"a":1}}`, status: 200, answer: oneCreated},
		"inbound array":            {request: "POST " + hook, body: `[{"email":"ada@example.com"},"junk"]`, status: 200, answer: oneCreated},
		"inbound form":             {request: "POST " + hook, headers: []string{"Content-Type: application/x-www-form-urlencoded"}, body: `email=ada%40example.com&a[b]=c`, status: 200, answer: oneCreated},
		"inbound multipart":        {request: "POST " + hook, headers: []string{"Content-Type: multipart/form-data; boundary=x"}, body: "--x--", status: 200, answer: oneCreated},
		"inbound foreign names":    {request: "POST " + hook, body: `{"name":{"first":"Ada"},"email":["a@example.com"]}`, status: 200, answer: oneCreated},
		"inbound failed item":      {request: "POST " + hook, body: `{"action":"merge"}`, status: 400, answer: failure("invalid_action")},
		"inbound token":            {request: "POST " + hook, body: `{}`, status: 401, answer: failure("invalid_token")},
		"ping": {request: "POST " + admin + "/webhooks/a/ping", status: 200, answer: `{"data":{"delivery":"d","number":1,"started":"2026-03-04T16:20:11.087Z",` +
			`"durationMs":0,"status":null,"error":"refused","requestHeaders":{"X-Event":"webhook.ping"},"responseHeaders":{},"responseBody":""}}`},
		"rotate a secret":       {request: "POST " + admin + "/webhooks/a/rotate", status: 200, answer: `{"data":{"secret":"whsec_YWJj"}}`},
		"recover":               {request: "POST " + admin + "/webhooks/a/recover", body: `{"since":"2026-03-04T06:00:00Z"}`, status: 200, answer: `{"data":{"count":0,"failed":0,"missed":0,"types":{},"oldest":null,"newest":null,"pending":0}}`},
		"redeliver":             {request: "POST " + admin + "/deliveries/a/redeliver", status: 200, answer: `{"data":{"id":"a","status":"delivered","attempts":1,"nextAttempt":null}}`},
		"rotate a key":          {request: "POST " + admin + "/keys/a/rotate", status: 200, answer: `{"data":{"key":"cmk_EXAMPLEexampleEXAMPLEexampleEXAMPLE0"}}`},
		"rotate a key, overlap": {request: "POST " + admin + "/keys/a/rotate", body: `{"overlapHours":24}`, status: 200, answer: `{"data":{"key":"cmk_EXAMPLEexampleEXAMPLEexampleEXAMPLE0"}}`},
		"rotate a token": {request: "POST " + admin + "/inbound/a/rotate", status: 200,
			answer: `{"data":{"token":"cmi_EXAMPLEexampleEXAMPLEexampleEXAMPLE0","url":"http://127.0.0.1:8090/api/hooks/cmi_EXAMPLEexampleEXAMPLEexampleEXAMPLE0"}}`},
		"preview":          {request: "POST " + admin + "/inbound/preview", body: `{"tenant":"t","body":"{}","mapping":null}`, status: 200, answer: strings.Replace(oneCreated, `"id":`, `"contact":`+adaJSON+`,"id":`, 1)},
		"preview, mapping": {request: "POST " + admin + "/inbound/preview", body: `{"tenant":"t","body":[{}],"mapping":{"preset":"typeform","fields":{"email":["a","b"],"name":{"join":["c","d"]},"phone":null}},"access":"full"}`, status: 200, answer: oneCreated},
		"replay":           {request: "POST " + admin + "/inbound/requests/a/replay", status: 200, answer: oneCreated},
		"admin, no token":  {request: "POST " + admin + "/keys/a/rotate", status: 401, answer: failure("unauthorized")},
		"admin, no method": {request: "GET " + admin + "/keys/a/rotate", status: 405, answered: []string{"Allow: POST"}, answer: failure("method_not_allowed")},

		// contradictions
		"missing field":               {request: "GET " + ada, status: 200, answered: tag, answer: strings.Replace(one, `"company":null,`, "", 1), contradicts: "response body: $.data: missing property 'company'"},
		"missing field in a list":     {request: "GET " + contacts, status: 200, answer: strings.Replace(list, `"company":null,`, "", 1), contradicts: "missing property 'company'"},
		"missing envelope field":      {request: "GET " + contacts, status: 200, answer: `{"data":[]}`, contradicts: "missing property 'hasMore'"},
		"wrong type":                  {request: "GET " + ada, status: 200, answered: tag, answer: strings.Replace(one, `"Ada"`, "7", 1), contradicts: "$.data.name: got number, want null or string"},
		"time of the database":        {request: "GET " + ada, status: 200, answered: tag, answer: strings.Replace(one, "02T09", "02 09", 1), contradicts: "$.data.createdAt"},
		"undescribed status":          {request: "GET " + ada, status: 202, answer: one, contradicts: "the status 202 is not described for GET /api/ext/v1/contacts/{id}"},
		"status of another operation": {request: "GET " + ada, status: 201, answer: one, contradicts: "the status 201 is not described"},
		"405 on a described method":   {request: "GET " + ada, status: 405, answered: []string{"Allow: GET"}, answer: failure("method_not_allowed"), contradicts: "the status 405 is not described"},
		"undescribed method":          {request: "PUT " + ada, status: 204, contradicts: "the method is not described, so its status must be one of [400 405 429]"},
		"undescribed path":            {request: "GET /api/ext/v1/deals", status: 200, answer: list, contradicts: "the path is not described"},
		"405 without Allow":           {request: "PUT " + ada, status: 405, answer: failure("method_not_allowed"), contradicts: "response header Allow: it is missing"},
		"404 of PocketBase":           {request: "GET /api/ext/v1/deals", status: 404, answer: `{"data":{},"message":"Not found.","status":404}`, contradicts: "missing property 'error'"},
		"code of another status":      {request: "GET " + ada, status: 404, answer: failure("rate_limited"), contradicts: `$.error.code: "rate_limited" is none of ["not_found"]`},
		"unknown code":                {request: "GET " + ada, status: 404, answer: failure("gone"), contradicts: "$.error.code"},
		"more than an error":          {request: "GET " + ada, status: 404, answer: strings.Replace(failure("not_found"), `"code"`, `"status":404,"code"`, 1), contradicts: "additional properties 'status' not allowed"},
		"unknown field code":          {request: "PATCH " + ada, body: `{}`, status: 400, answer: fieldFailure("validation_failed", "email", "email_wrong"), contradicts: "$.error.fields.email.code"},
		"field code of a parameter":   {request: "PATCH " + ada, body: `{}`, status: 400, answer: fieldFailure("validation_failed", "email", "unknown_parameter"), contradicts: `$.error.fields.email.code: "unknown_parameter" is none of`},
		"head without a limit":        {request: "HEAD " + contacts, status: 200, without: "RateLimit", contradicts: "response header RateLimit: it is missing"},
		"undescribed status of HEAD":  {request: "HEAD " + contacts, status: 202, contradicts: "the status 202 is not described"},
		"parameter without fields":    {request: "GET " + contacts + "?a=%zz", status: 400, answer: failure("invalid_parameter"), contradicts: "missing property 'fields'"},
		"unknown parameter code":      {request: "GET " + contacts + "?a=1", status: 400, answer: fieldFailure("invalid_parameter", "a", "unknown_field"), contradicts: "$.error.fields.a.code"},
		"code of an item":             {request: "POST " + hook, body: `5`, status: 400, answer: failure("invalid_type"), contradicts: "$.error.code"},
		"wrong mapping, accepted":     {request: "POST " + admin + "/inbound/preview", body: `{"tenant":"t","body":"{}","mapping":{"map":{}}}`, status: 200, answer: oneCreated, contradicts: "request: $.mapping"},
		"no fields":                   {request: "PATCH " + ada, body: `{}`, status: 400, answer: failure("validation_failed"), contradicts: "missing property 'fields'"},
		"no request id":               {request: "GET " + contacts, status: 200, without: "X-Request-Id", answer: list, contradicts: "response header X-Request-Id: it is missing"},
		"no limit":                    {request: "GET " + contacts, status: 200, without: "RateLimit", answer: list, contradicts: "response header RateLimit: it is missing"},
		"wrong limit":                 {request: "GET " + contacts, status: 200, answered: []string{"RateLimit: 99"}, answer: list, contradicts: `response header RateLimit: "99":`},
		"bare tag":                    {request: "GET " + ada, status: 200, answered: []string{"ETag: 5b1f"}, answer: one, contradicts: "response header ETag"},
		"optional header":             {request: "GET " + contacts, status: 200, answered: []string{"Link: /next"}, answer: list, contradicts: "response header Link"},
		"retry date":                  {request: "GET " + contacts, status: 429, answered: []string{"Retry-After: Wed, 04 Mar 2026 16:20:11 GMT"}, answer: failure("rate_limited"), contradicts: "response header Retry-After"},
		"retry fraction":              {request: "GET " + contacts, status: 429, answered: []string{"Retry-After: 0.5"}, answer: failure("rate_limited"), contradicts: "response header Retry-After"},
		"empty body":                  {request: "GET " + contacts, status: 200, contradicts: "response body: it is missing"},
		"null":                        {request: "GET " + contacts, status: 200, answer: "null", contradicts: "response body: it is missing"},
		"no JSON":                     {request: "GET " + contacts, status: 200, answer: "{", contradicts: "cannot be decoded"},
		"content type":                {request: "GET " + contacts, status: 200, answered: []string{"Content-Type: text/plain"}, answer: list, contradicts: `the Content-Type "text/plain" is not described`},
		"body of a 304":               {request: "GET " + ada, status: 304, answered: tag, answer: one, contradicts: "response body: there must be none"},
		"accepted a wrong parameter":  {request: "GET " + contacts + "?limit=ten", status: 200, answer: list, contradicts: "request: "},
		"accepted a small limit":      {request: "GET " + contacts + "?limit=0", status: 200, answer: list, contradicts: "request: limit"},
		"accepted a wrong order":      {request: "GET " + contacts + "?sort=email", status: 200, answer: list, contradicts: "request: sort"},
		"accepted on HEAD":            {request: "HEAD " + contacts + "?offset=-1", status: 200, contradicts: "request: offset"},
		"accepted a wrong field":      {request: "POST " + contacts, body: `{"email":1}`, status: 201, answered: location, answer: one, contradicts: "request: $.email"},
		"accepted an array":           {request: "POST " + contacts, body: `[]`, status: 201, answered: location, answer: one, contradicts: "request: "},
		"accepted a text":             {request: "POST " + contacts, headers: []string{"Content-Type: text/plain"}, body: `{}`, status: 201, answered: location, answer: one, contradicts: "request: "},
		"accepted nothing":            {request: "POST " + contacts, status: 201, answered: location, answer: one, contradicts: "request: "},
		"inbound status":              {request: "POST " + hook, body: `{}`, status: 200, answer: strings.Replace(oneCreated, `"status":"created"`, `"status":"done"`, 1), contradicts: "$.data.results[0].status"},
		"inbound count":               {request: "POST " + hook, body: `{}`, status: 200, answer: strings.Replace(oneCreated, `"ignored":0,`, "", 1), contradicts: "missing property 'ignored'"},
		"inbound XML":                 {request: "POST " + hook, headers: []string{"Content-Type: text/xml"}, body: `<a/>`, status: 200, answer: oneCreated, contradicts: "request: "},
		"secret's form":               {request: "POST " + admin + "/webhooks/a/rotate", status: 200, answer: `{"data":{"secret":"abc"}}`, contradicts: "$.data.secret"},
		"recover without a time":      {request: "POST " + admin + "/webhooks/a/recover", body: `{}`, status: 200, answer: `{"data":{"count":0,"failed":0,"missed":0,"types":{},"oldest":null,"newest":null,"pending":0}}`, contradicts: "request: "},
	}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := cases[name]
			failures := e.validate(t)
			switch {
			case e.contradicts == "" && len(failures) > 0:
				t.Errorf("a described exchange failed: %s", failures)
			case e.contradicts != "" && (len(failures) != 1 || !strings.Contains(failures[0], e.contradicts)):
				t.Errorf("want one failure with %q, got %q", e.contradicts, failures)
			}
		})
	}
}

// ValidateExchange does not change the request.
func TestValidateExchangeKeepsTheRequest(t *testing.T) {
	t.Parallel()
	req := httptest.NewRequest(http.MethodPost, "/api/hooks/cmi_x", strings.NewReader("unread"))
	req.Header.Set("Content-Type", "application/cloudevents+json")
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{
		"Content-Type": {"application/json"}, "X-Request-Id": {"12345"},
	}}
	ValidateExchange(t, req, []byte(`{"email":"ada@example.com"}`), res, []byte(oneCreated))
	body := make([]byte, 6)
	if _, err := req.Body.Read(body); err != nil || string(body) != "unread" {
		t.Errorf("the body was read: %q, %v", body, err)
	}
	if got := req.Header.Get("Content-Type"); got != "application/cloudevents+json" {
		t.Errorf("the Content-Type became %s", got)
	}
}
