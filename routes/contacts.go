package routes

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/idempotency"
	"contactbase/internal/sqlite"
)

func (s *server) listContacts(e *core.RequestEvent) error {
	values, err := url.ParseQuery(e.Request.URL.RawQuery)
	if err != nil {
		return invalidParameter("query", "is no valid query of an address")
	}
	query, err := list.ParseQuery(values)
	if err != nil {
		return err
	}
	page, err := s.lists.Page(e.App, grant(e).TenantID, query)
	if err != nil {
		return err
	}
	if page.Next != nil {
		values.Del("offset")
		values.Set("cursor", page.Next.String())
		e.Response.Header().Set("Link", "<"+outside(e.App, apiPrefix)+"/contacts?"+values.Encode()+`>; rel="next"`)
	}
	body, err := listOf(page)
	if err != nil {
		return err
	}
	return e.Blob(http.StatusOK, "application/json", body)
}

// listOf returns the envelope of a page of contacts.
func listOf(page *list.Page) (body []byte, err error) {
	body = append(make([]byte, 0, 64+256*len(page.Contacts)), `{"data":[`...)
	for i, c := range page.Contacts {
		if i > 0 {
			body = append(body, ',')
		}
		if body, err = c.AppendJSON(body); err != nil {
			return nil, err
		}
	}
	return append(strconv.AppendBool(append(body, `],"hasMore":`...), page.Next != nil), '}'), nil
}

func (s *server) readContact(e *core.RequestEvent) error {
	found, err := contact.Find(e.App, grant(e).TenantID, e.Request.PathValue("id"))
	if err != nil {
		return err
	}
	body, err := dataOf(found)
	if err != nil {
		return err
	}
	tag := contact.Tag(contactIn(body))
	e.Response.Header().Set("ETag", tag)
	if condition := e.Request.Header.Values("If-None-Match"); len(condition) > 0 && hasTag(condition, tag, true) {
		return e.NoContent(http.StatusNotModified)
	}
	return e.Blob(http.StatusOK, "application/json", body)
}

func (s *server) createContact(e *core.RequestEvent) error {
	raw, object, err := readJSON(e, maxContactBody)
	if err != nil {
		return err
	}
	key, err := idempotencyKey(e.Request.Header)
	if err != nil {
		return err
	}
	c := &creation{grant: grant(e), call: newCall(key, grant(e).TenantID, grant(e).KeyID+" POST "+apiPrefix+"/contacts", raw)}
	changes, invalid := contact.ParseChanges(e.App, object) // before the transaction, which others wait for
	c.invalid = invalid
	end, err := s.begin(c.call)
	if err != nil {
		return err
	}
	defer end()
	_, err = contact.CreateAlso(e.App, c.grant.TenantID, changes, contact.Also{Check: c.check, Write: c.write})
	if err != nil && !errors.Is(err, errReplayed) {
		return err
	}
	e.Response.Header().Set("Location", outside(e.App, c.answer.Location))
	e.Response.Header().Set("ETag", contact.Tag(contactIn([]byte(c.answer.Body))))
	return c.send(e)
}

// creation is a request for a new contact.
type creation struct {
	call
	grant   *credential.Grant
	invalid error // what is wrong with the contact: a repeat is answered whatever its body says
}

func (c *creation) check(tx sqlite.Reader) error {
	if err := confirm(tx, c.grant); err != nil {
		return err
	}
	if err := c.find(tx); err != nil {
		return err
	}
	return c.invalid
}

func (c *creation) write(tx sqlite.Reader, created *contact.Contact) ([]sqlite.Statement, error) {
	body, err := dataOf(created)
	if err != nil {
		return nil, err
	}
	return c.remember(tx, &idempotency.Answer{
		Status:   http.StatusCreated,
		Location: apiPrefix + "/contacts/" + created.ID,
		Body:     string(body),
		Contact:  created.ID,
		Tenant:   c.grant.TenantID,
	})
}

func (s *server) updateContact(e *core.RequestEvent) error {
	_, object, err := readJSON(e, maxContactBody)
	if err != nil {
		return err
	}
	id, tenantID := e.Request.PathValue("id"), grant(e).TenantID
	changes, invalid := contact.ParseChanges(e.App, object)
	if invalid != nil {
		// an unknown contact is that, whatever the body says
		if _, err := contact.Find(e.App, tenantID, id); err != nil {
			return err
		}
		return invalid
	}
	updated, _, err := contact.UpdateAlso(e.App, tenantID, id, changes, ifMatch(e.Request.Header), contact.Also{
		Check: func(tx sqlite.Reader) error { return confirm(tx, grant(e)) },
	})
	if err != nil {
		return err
	}
	body, err := dataOf(updated)
	if err != nil {
		return err
	}
	e.Response.Header().Set("ETag", contact.Tag(contactIn(body)))
	return e.Blob(http.StatusOK, "application/json", body)
}

// upsertContact creates or changes a contact by the caller's own id for it.
func (s *server) upsertContact(e *core.RequestEvent) error {
	_, object, err := readJSON(e, maxContactBody)
	if err != nil {
		return err
	}
	changes, err := identified(e.App, object, e.Request.PathValue("externalId"))
	if err != nil {
		return err
	}
	written, created, err := contact.UpsertAlso(e.App, grant(e).TenantID, changes, expectation(e.Request.Header), contact.Also{
		Check: func(tx sqlite.Reader) error { return confirm(tx, grant(e)) },
	})
	if err != nil {
		return err
	}
	body, err := dataOf(written)
	if err != nil {
		return err
	}
	e.Response.Header().Set("ETag", contact.Tag(contactIn(body)))
	if !created {
		return e.Blob(http.StatusOK, "application/json", body)
	}
	e.Response.Header().Set("Location", outside(e.App, apiPrefix+"/contacts/"+written.ID))
	return e.Blob(http.StatusCreated, "application/json", body)
}

// identified returns the changes of a contact whose external id is in the address. The body may have the same one.
func identified(app core.App, object map[string]any, externalID string) (contact.Changes, error) {
	const field = "externalId"
	sent, both := object[field]
	object[field] = externalID
	changes, err := contact.ParseChanges(app, object)
	if err != nil {
		return nil, err
	}
	if changes[field] == "" {
		return nil, fault.InvalidField(field, contact.CodeRequired, "must be in the address")
	}
	if !both {
		return changes, nil
	}
	again, err := contact.ParseChanges(app, map[string]any{field: sent})
	if err != nil {
		return nil, err
	}
	if again[field] != changes[field] {
		return nil, fault.InvalidField(field, fault.CodeInvalidValue, "must be the one of the address, or be left out")
	}
	return changes, nil
}

// expectation returns what the caller expects of the contact, or of there being none; nil where they expect nothing.
func expectation(header http.Header) func(*contact.Contact) bool {
	matches := ifMatch(header)
	none := header.Values("If-None-Match")
	if matches == nil && len(none) == 0 {
		return nil
	}
	return func(present *contact.Contact) bool {
		if present == nil {
			return matches == nil
		}
		if matches != nil && !matches(present) {
			return false
		}
		if len(none) == 0 {
			return true
		}
		tag, err := present.ETag()
		return err == nil && !hasTag(none, tag, true)
	}
}

// ifMatch returns what the caller expects of the contact, nil where they expect nothing.
func ifMatch(header http.Header) func(*contact.Contact) bool {
	condition := header.Values("If-Match")
	if len(condition) == 0 {
		return nil
	}
	return func(c *contact.Contact) bool {
		tag, err := c.ETag()
		return err == nil && hasTag(condition, tag, false)
	}
}

const dataPrefix = `{"data":`

// dataOf returns the envelope of a single contact, and contactIn the contact in it.
func dataOf(c *contact.Contact) ([]byte, error) {
	body, err := c.AppendJSON(append(make([]byte, 0, 512), dataPrefix...))
	return append(body, '}'), err
}

func contactIn(body []byte) []byte { return body[len(dataPrefix) : len(body)-1] }

// hasTag tells whether a condition's list of entity tags holds tag. A weak comparison ignores the weakness of the
// tags, a strong one fails on it (RFC 9110, 8.8.3.2).
func hasTag(condition []string, tag string, weak bool) bool {
	listed := strings.Split(strings.Join(condition, ","), ",")
	return slices.ContainsFunc(listed, func(candidate string) bool {
		candidate = strings.TrimSpace(candidate)
		if weak {
			candidate = strings.TrimPrefix(candidate, "W/")
		}
		return candidate == "*" || candidate == tag
	})
}

// idempotencyKey returns the caller's key, bare, and "" where none is sent.
func idempotencyKey(header http.Header) (string, error) {
	sent := header.Values("Idempotency-Key")
	if len(sent) == 0 {
		return "", nil
	}
	key := strings.TrimSpace(sent[0])
	if unquoted := strings.TrimPrefix(key, `"`); unquoted != key && strings.HasSuffix(unquoted, `"`) {
		key = strings.TrimSuffix(unquoted, `"`)
	}
	if len(sent) > 1 || key == "" || len(key) > idempotency.MaxKeyLength || !utf8.ValidString(key) {
		return "", invalidParameter("Idempotency-Key", "must be sent once and have 1 to 255 characters, in UTF-8")
	}
	return key, nil
}
