package field_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

type request struct {
	Method    string            `json:"method"`
	Path      string            `json:"path"`
	As        string            `json:"as"`
	Headers   map[string]string `json:"headers"`
	JSON      rawJSON           `json:"json"`
	Form      rawJSON           `json:"form"`
	Multipart map[string]string `json:"multipart"`
	Text      *string           `json:"text"`
	Base64    []byte            `json:"base64"`
	Sign      *signature        `json:"sign"`
	Times     int               `json:"times"`
	Save      map[string]string `json:"save"`
	Expect    responseAnswers   `json:"expect"`
}

type signature struct {
	Header   string `json:"header"`
	Hash     string `json:"hash"`
	Encoding string `json:"encoding"`
	Of       string `json:"of"`
	Value    string `json:"value"`
	Secret   string `json:"secret"`
}

type responseAnswers []responseAnswer

func (a *responseAnswers) UnmarshalJSON(data []byte) error {
	return oneOrMore(data, (*[]responseAnswer)(a))
}

type responseAnswer struct {
	Status   int                `json:"status"`
	JSON     rawJSON            `json:"json"`
	Headers  map[string]*string `json:"headers"`
	Contains []string           `json:"contains"`
	Lacks    []string           `json:"lacks"`
}

// response is one that has been read to its end.
type response struct {
	status int
	header http.Header
	body   string
}

// client sends the requests of a shape.
type client struct {
	base   string
	values map[string]string // of the texts in braces
	secret string            // of the inbound webhook
}

var stay = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// fill puts the values into a text.
func (c *client) fill(text string) string {
	var pairs []string
	for name, value := range c.values {
		pairs = append(pairs, "{"+name+"}", value)
	}
	return strings.NewReplacer(pairs...).Replace(text)
}

// credential returns the header of a caller.
func (c *client) credential(as string) (name, value string) {
	switch as {
	case "key", "owner":
		return "X-API-Key", c.values[as]
	case "superuser":
		return "Authorization", c.values["superuser"]
	}
	return "", ""
}

// send sends a request with a body.
func (c *client) send(ctx context.Context, as, method, path, contentType string, body []byte, headers ...string) (*response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	if name, value := c.credential(as); name != "" {
		request.Header.Set(name, value)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if strings.EqualFold(headers[i], "Host") {
			request.Host = headers[i+1]
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := stay.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return &response{answer.StatusCode, answer.Header, string(text)}, err
}

// call sends JSON as one caller, and returns the answer's JSON if it succeeded.
func (c *client) call(ctx context.Context, as, method, path string, body any) (map[string]any, *response, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, nil, err
	}
	got, err := c.send(ctx, as, method, path, "application/json", text)
	if err != nil || got.status >= 400 {
		return nil, got, err
	}
	object, _ := decode(got.body).(map[string]any)
	return object, got, nil
}

// run sends the requests of a shape in their order.
func (c *client) run(ctx context.Context, s *shape, r *result) (faults []string, err error) {
	for i := range s.requests {
		request := &s.requests[i]
		for range max(request.Times, 1) {
			got, err := c.do(ctx, s.Door, request)
			if err != nil {
				return faults, fmt.Errorf("request %d: %w", i, err)
			}
			found := request.Expect.faults(c, got)
			for _, fault := range found {
				faults = append(faults, fmt.Sprintf("request %d: %s", i, fault))
			}
			collectWarnings(decode(got.body), r)
			for name, from := range request.Save {
				c.values[name] = got.at(from)
				c.values[name+".bare"] = strings.Trim(got.at(from), `"`)
			}
			if len(found) > 0 {
				break // of a request that is repeated, the first fault says enough
			}
		}
	}
	return faults, nil
}

func (c *client) do(ctx context.Context, door string, r *request) (*response, error) {
	contentType, body, err := r.body()
	if err != nil {
		return nil, err
	}
	body = []byte(c.fill(string(body)))
	method, path, as := r.Method, c.fill(r.Path), r.As
	switch {
	case door == "inbound" && (path == "" || path[0] == '?'):
		path = "/api/hooks/" + c.values["token"] + path
		fallthrough
	case door == "inbound":
		method = cmp.Or(method, "POST")
	case door == "rest":
		as = cmp.Or(as, "key")
	}
	var headers []string
	for name, value := range r.Headers {
		headers = append(headers, name, c.fill(value))
	}
	if r.Sign != nil {
		value, err := c.sign(r.Sign, string(body))
		if err != nil {
			return nil, err
		}
		headers = append(headers, r.Sign.Header, value)
	}
	return c.send(ctx, as, cmp.Or(method, "GET"), path, contentType, body, headers...)
}

// body returns the content type and the bytes of a request.
func (r *request) body() (contentType string, body []byte, err error) {
	switch {
	case r.JSON != nil:
		var text bytes.Buffer
		err := json.Compact(&text, r.JSON)
		return "application/json", text.Bytes(), err
	case r.Form != nil:
		contentType = "application/x-www-form-urlencoded"
		var text string
		if json.Unmarshal(r.Form, &text) == nil {
			return contentType, []byte(text), nil
		}
		var fields map[string]string
		err := json.Unmarshal(r.Form, &fields)
		values := url.Values{}
		for name, value := range fields {
			values.Set(name, value)
		}
		return contentType, []byte(values.Encode()), err
	case r.Multipart != nil:
		var text bytes.Buffer
		parts := multipart.NewWriter(&text)
		for name, value := range r.Multipart {
			err = errors.Join(err, parts.WriteField(name, value))
		}
		err = errors.Join(err, parts.Close())
		return parts.FormDataContentType(), text.Bytes(), err
	case r.Text != nil:
		return "text/plain", []byte(*r.Text), nil
	}
	return "", r.Base64, nil
}

var hashes = map[string]func() hash.Hash{"sha1": sha1.New, "": sha256.New, "sha256": sha256.New, "sha512": sha512.New}

var digests = map[string]func([]byte) string{
	"": hex.EncodeToString, "hex": hex.EncodeToString,
	"base64": base64.StdEncoding.EncodeToString, "base64url": base64.URLEncoding.EncodeToString,
}

// sign returns the value of the header of a signature.
func (c *client) sign(s *signature, body string) (string, error) {
	create, encode := hashes[s.Hash], digests[s.Encoding]
	if create == nil || encode == nil {
		return "", fmt.Errorf("there is no hash %q or encoding %q", s.Hash, s.Encoding)
	}
	mac := hmac.New(create, []byte(cmp.Or(s.Secret, c.secret)))
	mac.Write([]byte(strings.ReplaceAll(c.fill(cmp.Or(s.Of, "{body}")), "{body}", body)))
	return strings.ReplaceAll(c.fill(cmp.Or(s.Value, "{signature}")), "{signature}", encode(mac.Sum(nil))), nil
}

// at returns the part of a response that a text such as "header ETag" or "json data.0.id" names.
func (r *response) at(from string) string {
	kind, path, _ := strings.Cut(from, " ")
	if kind == "header" {
		return r.header.Get(path)
	}
	value := decode(r.body)
	for name := range strings.SplitSeq(path, ".") {
		switch parent := value.(type) {
		case map[string]any:
			value = parent[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(parent) {
				return ""
			}
			value = parent[i]
		}
	}
	if text, ok := value.(string); ok {
		return text
	}
	return compact(value)
}

// faults are the differences from the nearest of the expected answers.
func (a responseAnswers) faults(c *client, r *response) (nearest []string) {
	for i, answer := range a {
		if faults := answer.faults(c, r); i == 0 || len(faults) < len(nearest) {
			nearest = faults
		}
	}
	return nearest
}

func (a *responseAnswer) faults(c *client, r *response) (faults []string) {
	if a.Status != 0 && a.Status != r.status {
		faults = append(faults, fmt.Sprintf("the answer is %d %.500s, not %d", r.status, r.body, a.Status))
	}
	if want := c.fill(string(a.JSON)); want != "" && !matches(decode(want), decode(r.body)) {
		faults = append(faults, fmt.Sprintf("the answer is %.2000s, not %s", r.body, want))
	}
	for name, want := range a.Headers {
		got := r.header.Values(name)
		switch {
		case want == nil && len(got) > 0, want != nil && !strings.Contains(strings.Join(got, ", "), *want):
			faults = append(faults, fmt.Sprintf("the header %s is %q, not %s", name, got, compact(want)))
		}
	}
	return append(faults, textFaults(r.body, a.Contains, a.Lacks)...)
}

// collectWarnings adds what an answer to an inbound request warns of, and its error.
func collectWarnings(value any, r *result) {
	object, _ := value.(map[string]any)
	if failed, ok := object["error"]; ok {
		r.others = append(r.others, compact(failed))
	}
	data, _ := object["data"].(map[string]any)
	results, _ := data["results"].([]any)
	for _, item := range results {
		item, _ := item.(map[string]any)
		warnings, _ := item["warnings"].([]any)
		for _, warning := range warnings {
			r.warnings = append(r.warnings, fmt.Sprint(warning))
		}
		if failed, ok := item["error"]; ok {
			r.others = append(r.others, compact(failed))
		}
	}
	r.warnings = slices.Compact(r.warnings)
}
