// Package contactbase is the client of the Contactbase API: it creates, reads, updates and lists the contacts of a
// tenant, and reads the feed of events. Package webhook, beside it, verifies the events that an installation sends.
//
// Calls that fail for the moment are repeated, with growing pauses, and never write anything twice: each POST carries
// an Idempotency-Key, the same in all its tries.
package contactbase

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"contactbase/clients/go/internal/api"
)

// The defaults of New.
const (
	defaultMaxRetries = 8
	defaultTimeout    = 45 * time.Second // of one try: longer than the feed waits
)

// Client calls an installation with an API key. It may be used by several goroutines at once.
type Client struct {
	// Contacts are the contacts of the key's tenant.
	Contacts *Contacts

	// Events are the feed of what happened to them.
	Events *Events
}

// Option is what New sets beyond the address and the key.
type Option func(*retrying)

// WithHTTPClient has requests sent by another HTTP client than one that gives up a try after 45 seconds. Its Timeout
// counts for each try.
func WithHTTPClient(client *http.Client) Option {
	return func(r *retrying) { r.client = client }
}

// WithMaxRetries says how often a call is repeated at most: 8 times, which takes half a minute, unless this says
// otherwise. With 0 each call is tried once.
func WithMaxRetries(count int) Option {
	return func(r *retrying) { r.maxRetries = count }
}

// New returns a client of the installation at the address, such as https://crm.example.com, which uses the API key.
func New(address, key string, options ...Option) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil || base.Scheme != "https" && base.Scheme != "http" || base.Host == "" {
		return nil, fmt.Errorf("contactbase: %q is not an address such as https://crm.example.com", address)
	}
	if key = strings.TrimSpace(key); key == "" {
		return nil, errors.New("contactbase: there is no API key")
	}
	doer := &retrying{client: &http.Client{Timeout: defaultTimeout}, maxRetries: defaultMaxRetries}
	for _, option := range options {
		option(doer)
	}
	authorize := edit(RequestOption{"Authorization", "Bearer " + key}, RequestOption{"User-Agent", "contactbase-go"})
	calls, err := api.NewClient(address, api.WithHTTPClient(doer), api.WithRequestEditorFn(authorize))
	if err != nil {
		return nil, fmt.Errorf("contactbase: %w", err)
	}
	return &Client{Contacts: &Contacts{api: calls}, Events: &Events{api: calls}}, nil
}

// RequestOption is what a single call sends beside its arguments: a header.
type RequestOption struct{ name, value string }

// IdempotencyKey makes a POST happen once, however often it is sent with this key within 24 hours, by whichever
// process: 1 to 255 characters, such as the id of an order. Without it each call has a key of its own.
func IdempotencyKey(key string) RequestOption {
	return RequestOption{"Idempotency-Key", key}
}

// IfMatch has a contact changed only if its ETag still is this one. Otherwise the call fails with CodePreconditionFailed.
func IfMatch(etag string) RequestOption {
	return RequestOption{"If-Match", etag}
}

// OnlyCreate keeps Upsert from changing a contact that is there. It then fails with CodePreconditionFailed.
func OnlyCreate() RequestOption {
	return RequestOption{"If-None-Match", "*"}
}

// RequestID names the request in the log of the installation: 1 to 128 letters, digits and ._~:/+=@-.
func RequestID(id string) RequestOption {
	return RequestOption{"X-Request-Id", id}
}

// edit returns what sets the headers of a request. What no header can hold is refused here: it is not a fault of the
// network, after which a call would be repeated.
func edit(options ...RequestOption) api.RequestEditorFn {
	return func(_ context.Context, request *http.Request) error {
		for _, option := range options {
			if strings.ContainsFunc(option.value, unicode.IsControl) {
				return fmt.Errorf("contactbase: the value of %s has control characters", option.name)
			}
			request.Header.Set(option.name, option.value)
		}
		return nil
	}
}
