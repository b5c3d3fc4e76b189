package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const contactsPath = "/api/ext/v1/contacts"

// client calls the server like the program of an integrator.
type client struct {
	t      *testing.T
	base   string
	header map[string]string // sent with every request
	http   *http.Client
}

// client returns a client with the API key.
func (s *server) client(key string) *client {
	c := &client{t: s.t, base: s.base, header: map[string]string{}, http: &http.Client{
		Timeout:   timeout,
		Transport: &http.Transport{MaxIdleConnsPerHost: 16},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
	s.t.Cleanup(c.http.CloseIdleConnections)
	if key != "" {
		c.header["X-API-Key"] = key
	}
	return c
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a *answer) String() string { return fmt.Sprintf("%d %s", a.status, a.body) }

// json returns the body as an object, or nil if it is not one.
func (a *answer) json() map[string]any {
	var object map[string]any
	_ = json.Unmarshal(a.body, &object)
	return object
}

// data returns the data of a successful response.
func (a *answer) data() map[string]any {
	data, _ := a.json()["data"].(map[string]any)
	return data
}

// code returns the code of an error.
func (a *answer) code() string {
	fault, _ := a.json()["error"].(map[string]any)
	code, _ := fault["code"].(string)
	return code
}

// try sends a request. The default content type of a body is JSON. The header has pairs of names and values.
func (c *client) try(method, path, body string, header ...string) (*answer, error) {
	path = strings.TrimPrefix(path, c.base)                         // of a URL that the server has returned
	if other, err := url.Parse(path); err == nil && other.IsAbs() { // or that another machine has
		path = other.RequestURI()
	}
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.base+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for name, value := range c.header {
		request.Header.Set(name, value)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	return &answer{response.StatusCode, response.Header, read}, nil
}

// do sends a request, and fails the test without a response.
func (c *client) do(method, path, body string, header ...string) *answer {
	c.t.Helper()
	answer, err := c.try(method, path, body, header...)
	if err != nil {
		c.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer
}

// expect sends a request, and checks the status of the response.
func (c *client) expect(status int, method, path, body string, header ...string) *answer {
	c.t.Helper()
	answer := c.do(method, path, body, header...)
	if answer.status != status {
		c.t.Fatalf("%s %s returns %s, want %d", method, path, answer, status)
	}
	return answer
}

// page is the envelope of a list.
type page struct {
	Data []struct {
		ID    string  `json:"id"`
		Name  *string `json:"name"`
		Email *string `json:"email"`
		Phone *string `json:"phone"`
	} `json:"data"`
	HasMore bool `json:"hasMore"`
}

// list returns a page, and the path of the next one or "".
func (c *client) list(path string) (*page, string, error) {
	answer, err := c.try(http.MethodGet, path, "")
	if err != nil {
		return nil, "", err
	}
	if answer.status != http.StatusOK {
		return nil, "", fmt.Errorf("GET %s returns %s", path, answer)
	}
	p := &page{}
	if err := json.Unmarshal(answer.body, p); err != nil {
		return nil, "", fmt.Errorf("GET %s: %w", path, err)
	}
	next, _, _ := strings.Cut(strings.TrimPrefix(answer.header.Get("Link"), "<"), ">")
	if p.HasMore != (next != "") {
		return nil, "", fmt.Errorf("GET %s has hasMore %v and the next page %q", path, p.HasMore, next)
	}
	return p, next, nil
}
