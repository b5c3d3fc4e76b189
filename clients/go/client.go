// Package contactbase is the client of the Contactbase API: it creates, reads, updates and lists the contacts of a
// tenant, and reads the event feed. Package webhook verifies the events that an installation sends.
//
// The client retries temporary failures with increasing delays. All attempts of a POST carry the same Idempotency-Key,
// so nothing is written twice.
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
	defaultTimeout    = 45 * time.Second // of one attempt: longer than the feed waits
)

// Client calls an installation with an API key. It is safe for concurrent use.
type Client struct {
	// Contacts are the contacts of the key's tenant.
	Contacts *Contacts

	// Events are the feed of their events.
	Events *Events

	// PortalLinks lead people to the portal of the key's tenant.
	PortalLinks *PortalLinks
}

// Option is an optional setting of New.
type Option func(*retrying)

// WithHTTPClient sends requests with the given HTTP client. Its Timeout applies to each attempt; the default client has
// 45 seconds.
func WithHTTPClient(client *http.Client) Option {
	return func(r *retrying) { r.client = client }
}

// WithMaxRetries sets the maximum number of retries. The default of 8 takes about 30 seconds; 0 disables retries.
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
	doer.client = withinOrigin(doer.client)
	authorize := edit(RequestOption{"Authorization", "Bearer " + key}, RequestOption{"User-Agent", "contactbase-go"})
	calls, err := api.NewClient(address, api.WithHTTPClient(doer), api.WithRequestEditorFn(authorize))
	if err != nil {
		return nil, fmt.Errorf("contactbase: %w", err)
	}
	return &Client{
		Contacts: &Contacts{api: calls}, Events: &Events{api: calls}, PortalLinks: &PortalLinks{api: calls},
	}, nil
}

// withinOrigin returns a client that follows no redirect to another scheme, host or port. Go's client would send the
// key there if the host is the same or below it.
func withinOrigin(client *http.Client) *http.Client {
	const most = 10 // as Go's default
	within := *client
	within.CheckRedirect = func(next *http.Request, via []*http.Request) error {
		first := via[0].URL
		switch {
		case next.URL.Scheme != first.Scheme || next.URL.Host != first.Host || len(via) > most:
			return http.ErrUseLastResponse
		case client.CheckRedirect != nil:
			return client.CheckRedirect(next, via)
		}
		return nil
	}
	return &within
}

// RequestOption is an additional header of one call.
type RequestOption struct{ name, value string }

// IdempotencyKey makes a POST take effect once, even if several processes send it with this key within 24 hours. It has
// 1 to 255 characters, such as the ID of an order. By default, each call has its own key.
func IdempotencyKey(key string) RequestOption {
	return RequestOption{"Idempotency-Key", key}
}

// IfMatch makes the call fail with CodePreconditionFailed if the contact's ETag has changed.
func IfMatch(etag string) RequestOption {
	return RequestOption{"If-Match", etag}
}

// OnlyCreate makes Upsert fail with CodePreconditionFailed if the contact exists.
func OnlyCreate() RequestOption {
	return RequestOption{"If-None-Match", "*"}
}

// RequestID identifies the request in the installation's log: 1 to 128 letters, digits and ._~:/+=@-.
func RequestID(id string) RequestOption {
	return RequestOption{"X-Request-Id", id}
}

// edit returns a function that sets the headers of a request. It rejects invalid header values here, because a retry
// would not help.
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
