package testkit

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"contactbase/internal/testkit/openapi"
)

// Answer is a response that has been read to its end.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON returns the body as an object, or nil if it is not one.
func (a *Answer) JSON() map[string]any {
	var object map[string]any
	_ = json.Unmarshal(a.Body, &object)
	return object
}

// Data returns the property data of the body as an object.
func (a *Answer) Data() map[string]any {
	data, _ := a.JSON()["data"].(map[string]any)
	return data
}

// Location returns the path of the header Location.
func (a *Answer) Location() string {
	location, _ := url.Parse(a.Header.Get("Location")) // nil if it is invalid, which has no path
	if location == nil {
		return ""
	}
	return location.Path
}

// Code returns the error code of the body, or "" if it is not an error.
func (a *Answer) Code() string {
	return text(a.JSON(), "error", "code")
}

// FieldCode returns the error code of a field, or "".
func (a *Answer) FieldCode(field string) string {
	return text(a.JSON(), "error", "fields", field, "code")
}

// text returns the string at a path of property names, or "".
func text(object map[string]any, path ...string) string {
	last := len(path) - 1
	for _, name := range path[:last] {
		object, _ = object[name].(map[string]any)
	}
	found, _ := object[path[last]].(string)
	return found
}

// Client calls a server over HTTP, and checks every exchange against the OpenAPI document.
type Client struct {
	Base   string
	Header http.Header // sent with every request
	HTTP   *http.Client
	TB     testing.TB
}

// NewClient returns a client that sends the API key.
func NewClient(tb testing.TB, base, key string) *Client {
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c := &Client{Base: base, Header: http.Header{}, HTTP: &http.Client{CheckRedirect: stay}, TB: tb}
	if key != "" {
		c.Header.Set("X-API-Key", key)
	}
	return c
}

// Do sends a request to a path, or to a URL that the server has returned. The parameter header has pairs of names and
// values. The default content type of a body is JSON.
func (c *Client) Do(method, path, body string, header ...string) *Answer {
	c.TB.Helper()
	path = strings.TrimPrefix(path, c.Base)
	request, err := http.NewRequestWithContext(c.TB.Context(), method, c.Base+path, strings.NewReader(body))
	if err != nil {
		c.TB.Fatalf("%s %s: %v", method, path, err)
	}
	for name, values := range c.Header {
		request.Header[name] = values
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Del(header[i])
		if header[i+1] != "" {
			request.Header.Set(header[i], header[i+1])
		}
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		c.TB.Fatalf("%s %s: %v", method, path, err)
	}
	answer := ReadAnswer(c.TB, response)
	if answer.Status < http.StatusBadRequest {
		succeeded.Store(method+" "+request.URL.Path, true)
	}
	if strings.HasPrefix(path, "/api/ext/") || strings.HasPrefix(path, "/api/hooks/") ||
		strings.HasPrefix(path, "/api/integrations/") {
		openapi.ValidateExchange(c.TB, request, []byte(body), response, answer.Body)
	}
	return answer
}

// ReadAnswer reads the response to its end.
func ReadAnswer(tb testing.TB, response *http.Response) *Answer {
	tb.Helper()
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatalf("reading the answer: %v", err)
	}
	return &Answer{Status: response.StatusCode, Header: response.Header, Body: body}
}
