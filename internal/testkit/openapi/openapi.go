// Package openapi validates exchanges of tests against the OpenAPI document. It is apart from testkit because its
// library takes long to compile, and testkit is compiled again after most changes of the program.
package openapi

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/pb33f/libopenapi"
	validator "github.com/pb33f/libopenapi-validator"
	"github.com/pb33f/libopenapi-validator/config"
	openapierrors "github.com/pb33f/libopenapi-validator/errors"
	"github.com/pb33f/libopenapi-validator/helpers"
	"github.com/pb33f/libopenapi-validator/parameters"
	"github.com/pb33f/libopenapi-validator/paths"
	"github.com/pb33f/libopenapi-validator/radix"
	"github.com/pb33f/libopenapi-validator/responses"
	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
	"github.com/pb33f/libopenapi/orderedmap"

	"contactbase/api"
)

// ValidateExchange fails the test if an exchange does not match api/openapi.yaml. It always validates the response,
// and the request only if it succeeded (a status below 400), because many tests send invalid requests. The bodies are
// separate parameters, because those of req and res may have been read. Parallel tests may call it.
//
// A path or method that is not described must have the described response 404 or 405, 400 if the URL is not UTF-8,
// or 429. HEAD is validated like GET. Credentials are ignored.
func ValidateExchange(tb testing.TB, req *http.Request, reqBody []byte, res *http.Response, resBody []byte) {
	tb.Helper()
	described, err := load()
	if err != nil {
		tb.Fatalf("loading api/openapi.yaml: %v", err)
		return // reached only with a fake tb
	}
	faults := described.check(withBody(req, reqBody), res, resBody)
	if len(faults) > 0 {
		tb.Errorf("%s %s answered %d, which is not as api/openapi.yaml describes it:\n  - %s\nthe body was: %s",
			req.Method, req.URL.RequestURI(), res.StatusCode, strings.Join(faults, "\n  - "), excerpt(resBody))
	}
}

// document is api/openapi.yaml with its validator. The library resolves schemas lazily, so its calls need the lock.
type document struct {
	mu        sync.Mutex
	model     *v3.Document
	options   *config.ValidationOptions
	validator validator.Validator
}

var load = sync.OnceValues(func() (*document, error) {
	parsed, err := libopenapi.NewDocument(api.YAML())
	if err != nil {
		return nil, err
	}
	built, err := parsed.BuildV3Model()
	if err != nil {
		return nil, err
	}
	model := &built.Model
	for _, item := range model.Paths.PathItems.FromOldest() {
		for _, operation := range item.GetOperations().FromOldest() {
			for _, parameter := range operation.Parameters {
				// the library looks for reserved characters in the decoded value, where they are allowed
				parameter.AllowReserved = true
			}
		}
	}
	options := config.NewValidationOptions(
		config.WithoutSecurityValidation(),
		config.WithPathTree(radix.BuildPathTree(model)),
	)
	return &document{
		model:     model,
		options:   options,
		validator: validator.NewValidatorFromV3Model(model, config.WithExistingOpts(options)),
	}, nil
})

// withBody returns a copy of the request with its body.
func withBody(req *http.Request, body []byte) *http.Request {
	req = req.Clone(req.Context())
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf")) // which the validator cannot decode
	req.Body, req.GetBody = io.NopCloser(bytes.NewReader(body)), nil
	req.ContentLength = int64(len(body))
	if req.Method == "" {
		req.Method = http.MethodGet
	}
	if mediaType, _, err := mime.ParseMediaType(req.Header.Get("Content-Type")); err == nil &&
		strings.HasSuffix(mediaType, "+json") {
		req.Header.Set("Content-Type", "application/json") // OpenAPI cannot describe all of these types
	}
	return req
}

const byExternalID = "/api/ext/v1/contacts/by-external-id/"

// check returns a sentence for each difference between an exchange and the document.
func (o *document) check(req *http.Request, res *http.Response, body []byte) []string {
	o.mu.Lock()
	defer o.mu.Unlock()

	asked := req.Clone(req.Context())
	if req.Method == http.MethodHead { // its description is that of GET
		asked.Method = http.MethodGet
	}
	if id, found := strings.CutPrefix(req.URL.Path, byExternalID); found && id != "" &&
		strings.HasPrefix(req.URL.EscapedPath(), byExternalID) {
		// the rest of the path is one parameter, which OpenAPI cannot describe
		asked.URL.RawPath = byExternalID + url.PathEscape(id)
	}
	item, template := o.findPath(asked)
	if item == nil {
		return o.checkUndescribed("the path", []int{
			http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusTooManyRequests,
		}, req, res, body)
	}
	operation := helpers.ExtractOperation(asked, item)
	if operation == nil {
		return o.checkUndescribed("the method",
			[]int{http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusTooManyRequests}, req, res, body)
	}
	described := responseFor(operation, res.StatusCode)
	if described == nil {
		return []string{fmt.Sprintf("the status %d is not described for %s %s", res.StatusCode, req.Method, template)}
	}
	faults := o.checkResponse(described, req, res, body)
	if res.StatusCode < http.StatusBadRequest {
		_, errs := o.validator.ValidateHttpRequestSyncWithPathItem(asked, item, template)
		faults = append(faults, explain("request: ", errs)...)
	}
	return faults
}

// findPath returns the described path of the request and its template, or nil.
func (o *document) findPath(req *http.Request) (*v3.PathItem, string) {
	item, _, template := paths.FindPath(req, o.model, o.options)
	// the library matches "/contacts/" with "/contacts", but the router does not
	if strings.Count(req.URL.EscapedPath(), "/") != strings.Count(template, "/") {
		return nil, ""
	}
	return item, template
}

// checkUndescribed checks the response to a path or method that is not in the document.
func (o *document) checkUndescribed(
	what string, allowed []int, req *http.Request, res *http.Response, body []byte,
) []string {
	if !slices.Contains(allowed, res.StatusCode) {
		return []string{fmt.Sprintf("%s is not described, so its status must be one of %v", what, allowed)}
	}
	name := map[int]string{
		http.StatusBadRequest: "PlainInvalidParameter", http.StatusNotFound: "NotFound",
		http.StatusMethodNotAllowed: "MethodNotAllowed",
		http.StatusTooManyRequests:  "PlainRateLimited", // of a member
	}[res.StatusCode]
	return o.checkResponse(o.model.Components.Responses.GetOrZero(name), req, res, body)
}

func responseFor(operation *v3.Operation, status int) *v3.Response {
	code := strconv.Itoa(status)
	for _, key := range []string{code, code[:1] + "XX"} {
		if response := operation.Responses.Codes.GetOrZero(key); response != nil {
			return response
		}
	}
	return operation.Responses.Default
}

// checkResponse checks headers, media type and body. It does not use the library's check of a whole response, which
// decodes headers as JSON, so that an ETag loses its quotes, and accepts an empty body instead of the described one.
func (o *document) checkResponse(described *v3.Response, req *http.Request, res *http.Response, body []byte) []string {
	faults := o.checkHeaders(described, res)
	if req.Method == http.MethodHead {
		return faults // a recorder has the body that net/http does not send
	}
	if orderedmap.Len(described.Content) == 0 {
		if len(body) > 0 {
			faults = append(faults, "response body: there must be none")
		}
		return faults
	}
	contentType := res.Header.Get("Content-Type")
	mediaType, _, _ := mime.ParseMediaType(contentType)
	media := described.Content.GetOrZero(mediaType)
	switch {
	case media == nil:
		return append(faults, fmt.Sprintf("response body: the Content-Type %q is not described", contentType))
	case slices.Contains([]string{"", "null"}, string(bytes.TrimSpace(body))):
		return append(faults, "response body: it is missing") // the library accepts both
	case !strings.HasSuffix(mediaType, "json"):
		return faults // the library would parse it as JSON
	}
	_, errs := responses.ValidateResponseSchema(&responses.ValidateResponseSchemaInput{
		Request:  req,
		Response: &http.Response{StatusCode: res.StatusCode, Header: res.Header, Body: io.NopCloser(bytes.NewReader(body))},
		Schema:   media.Schema.Schema(),
		Version:  helpers.VersionToFloat(o.model.Version),
		Options:  []config.Option{config.WithExistingOpts(o.options)},
	})
	faults = append(faults, explain("response body: ", errs)...)
	return append(faults, checkErrorCodes(described, body)...)
}

func (o *document) checkHeaders(described *v3.Response, res *http.Response) (faults []string) {
	for name, header := range described.Headers.FromOldest() {
		values := res.Header.Values(name)
		if len(values) == 0 {
			if header.Required {
				faults = append(faults, "response header "+name+": it is missing")
			}
			continue
		}
		schema := header.Schema.Schema()
		for _, value := range values {
			var typed any = value
			if number, err := strconv.ParseInt(value, 10, 64); err == nil && slices.Contains(schema.Type, "integer") {
				typed = number
			}
			errs := parameters.ValidateSingleParameterSchema(schema, typed, "response header", "The response header", name,
				helpers.ResponseBodyValidation, "header", o.options, "", "")
			faults = append(faults, explain("response header "+name+": "+strconv.Quote(value)+": ", errs)...)
		}
	}
	return faults
}

// explain returns a sentence for each error of the library.
func explain(prefix string, errs []*openapierrors.ValidationError) []string {
	var faults []string
	for _, err := range errs {
		if len(err.SchemaValidationErrors) == 0 {
			faults = append(faults, prefix+err.Message+": "+err.Reason)
			continue
		}
		for _, failure := range err.SchemaValidationErrors {
			path := failure.FieldPath
			if err.ParameterName != "" {
				path = strings.TrimSpace(err.ParameterName + " " + path)
			}
			fault := fmt.Sprintf("%s%s: %s (schema: %s)", prefix, path, failure.Reason, failure.KeywordLocation)
			if !slices.Contains(faults, fault) {
				faults = append(faults, fault)
			}
		}
	}
	return faults
}

// excerpt shortens a body for the output of a failing test.
func excerpt(body []byte) string {
	const limit = 2000
	if len(body) > limit {
		return string(body[:limit]) + "…"
	}
	return string(body)
}
