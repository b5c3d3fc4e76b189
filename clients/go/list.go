package contactbase

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"

	"contactbase/clients/go/internal/api"
)

// largestPage is the maximum number of contacts per page.
const largestPage = 200

// ListOptions filter and sort contacts. The zero value lists all, the oldest first.
type ListOptions struct {
	Q             string // words in name, email, phone or company
	Email         string // this address, ignoring case
	Phone         string // this number
	ExternalID    string // your own identifier
	CreatedSince  time.Time
	CreatedBefore time.Time
	UpdatedSince  time.Time
	UpdatedBefore time.Time

	// Company and Custom filter once an administrator has added an index for the field. Custom has the exact values of
	// custom fields by name, as text: a number, true or false, or an RFC 3339 time.
	Company string
	Custom  map[string]string

	// Sort is createdAt, updatedAt or name; a minus sign before it reverses the order.
	Sort string

	Limit  int    // contacts per page: 50 by default, at most 200
	Offset int    // contacts to skip; not with Cursor
	Cursor string // the Cursor of the previous page
}

// Page is a page of contacts.
type Page struct {
	Data    []Contact
	HasMore bool
	Cursor  string // of the next page, for ListOptions; empty on the last page
}

// List returns a page of contacts.
func (c *Contacts) List(ctx context.Context, query ListOptions, options ...RequestOption) (Page, error) {
	answer, header, err := decode[api.ContactList](c.api.ListContacts(ctx,
		query.params(), filterBy(query.Custom), edit(options...)))
	if err != nil {
		return Page{}, err
	}
	page := Page{Data: make([]Contact, len(answer.Data)), HasMore: answer.HasMore, Cursor: cursorOf(header)}
	for i, contact := range answer.Data {
		page.Data[i] = contactOf(contact)
	}
	return page, nil
}

// Count is a number of contacts.
type Count struct {
	N    int
	More bool // whether there are more than N; counting stops at 100,000
}

// Count returns how many contacts the filters select. It ignores the order and the page of the query.
func (c *Contacts) Count(ctx context.Context, query ListOptions, options ...RequestOption) (Count, error) {
	chosen := query.params()
	answer, _, err := decode[api.ContactCount](c.api.CountContacts(ctx, &api.CountContactsParams{
		Q: chosen.Q, Email: chosen.Email, Phone: chosen.Phone, ExternalId: chosen.ExternalId, Company: chosen.Company,
		CreatedSince: chosen.CreatedSince, CreatedBefore: chosen.CreatedBefore,
		UpdatedSince: chosen.UpdatedSince, UpdatedBefore: chosen.UpdatedBefore,
	}, filterBy(query.Custom), edit(options...)))
	if err != nil {
		return Count{}, err
	}
	return Count{N: answer.Data.Count, More: answer.Data.More != nil && *answer.Data.More}, nil
}

// All returns the contacts of all pages. In the default order, new contacts neither shift nor repeat others. It ends at
// the first error.
func (c *Contacts) All(ctx context.Context, query ListOptions, options ...RequestOption) iter.Seq2[Contact, error] {
	if query.Limit == 0 {
		query.Limit = largestPage
	}
	return func(yield func(Contact, error) bool) {
		for query := query; ; {
			page, err := c.List(ctx, query, options...)
			if err != nil {
				yield(Contact{}, err)
				return
			}
			for _, contact := range page.Data {
				if !yield(contact, nil) {
					return
				}
			}
			if page.Cursor == "" {
				return
			}
			query.Cursor, query.Offset = page.Cursor, 0
		}
	}
}

func (o ListOptions) params() *api.ListContactsParams {
	params := &api.ListContactsParams{
		Q: orNull(o.Q), Email: orNull(o.Email), Phone: orNull(o.Phone),
		ExternalId: orNull(o.ExternalID), Cursor: orNull(o.Cursor),
		Company: orNull(o.Company), CreatedSince: timeOrNull(o.CreatedSince), CreatedBefore: timeOrNull(o.CreatedBefore),
		UpdatedSince: timeOrNull(o.UpdatedSince), UpdatedBefore: timeOrNull(o.UpdatedBefore),
	}
	if o.Sort != "" {
		sort := api.ListContactsParamsSort(o.Sort)
		params.Sort = &sort
	}
	if o.Limit != 0 {
		params.Limit = &o.Limit
	}
	if o.Offset != 0 {
		params.Offset = &o.Offset
	}
	return params
}

// filterBy returns a function that adds filters by custom fields to a request.
func filterBy(custom map[string]string) api.RequestEditorFn {
	return func(_ context.Context, request *http.Request) error {
		if len(custom) == 0 {
			return nil
		}
		query := request.URL.Query()
		for name, value := range custom {
			query.Set(name, value)
		}
		request.URL.RawQuery = query.Encode()
		return nil
	}
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// cursorOf returns the cursor of the next page from the Link header, or "" on the last page.
func cursorOf(header http.Header) string {
	for _, link := range header.Values("Link") {
		address, parameters, _ := strings.Cut(strings.TrimPrefix(link, "<"), ">")
		if next, err := url.Parse(address); err == nil && strings.Contains(parameters, `rel="next"`) {
			return next.Query().Get("cursor")
		}
	}
	return ""
}
