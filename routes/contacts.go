package routes

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/address"
	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/idempotency"
	"contactbase/internal/sqlite"
	"contactbase/routes/envelope"
)

// maxContactBody is the largest body of a request about a contact, in bytes.
const maxContactBody = 64 << 10

func (s *server) listContacts(e *core.RequestEvent) error {
	values, err := queryOf(e)
	if err != nil {
		return err
	}
	return s.sendPage(e, identity(e).TenantID, values, address.Base(e)+apiPrefix+"/contacts?", "")
}

// sendPage answers with a page of a tenant's contacts, those that an import has created if it has an id. base is
// the URL of the list, which parameters follow.
func (s *server) sendPage(e *core.RequestEvent, tenantID string, values url.Values, base, importID string) error {
	query, err := list.ParsePage(e.App, values)
	if err != nil {
		return err
	}
	query.Import = importID
	page, err := s.lists.Page(e.App, tenantID, query)
	if err != nil {
		return err
	}
	if page.Next != nil {
		values.Del("offset")
		values.Set("cursor", page.Next.String())
		e.Response.Header().Set("Link", "<"+base+values.Encode()+`>; rel="next"`)
	}
	body, err := listOf(page)
	if err != nil {
		return err
	}
	// net/http does not know the length of a body that exceeds its buffer: it would send chunks, the last of them in a
	// packet of its own
	e.Response.Header().Set("Content-Length", strconv.Itoa(len(body)))
	return e.Blob(http.StatusOK, "application/json", body)
}

func queryOf(e *core.RequestEvent) (url.Values, error) {
	values, err := url.ParseQuery(e.Request.URL.RawQuery)
	if err != nil {
		return nil, envelope.InvalidParameter("query", "is not a valid query string")
	}
	return values, nil
}

func (s *server) countContacts(e *core.RequestEvent) error {
	values, err := queryOf(e)
	if err != nil {
		return err
	}
	return s.sendCount(e, identity(e).TenantID, values, "")
}

func (s *server) sendCount(e *core.RequestEvent, tenantID string, values url.Values, importID string) error {
	filter, err := list.ParseFilters(e.App, values)
	if err != nil {
		return err
	}
	filter.Import = importID
	count, more, err := s.lists.Count(e.App, tenantID, filter)
	if err != nil {
		return err
	}
	body := strconv.AppendInt([]byte(`{"data":{"count":`), int64(count), 10)
	if more {
		body = append(body, `,"more":true`...)
	}
	return e.Blob(http.StatusOK, "application/json", append(body, "}}"...))
}

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
	return sendFound(e, identity(e).TenantID, apiPrefix)
}

// sendFound answers with the contact of a tenant that the path names, below the prefix.
func sendFound(e *core.RequestEvent, tenantID, prefix string) error {
	found, err := contact.Find(e.App, tenantID, e.Request.PathValue("id"))
	if err != nil {
		return err
	}
	body, err := dataOf(found)
	if err != nil {
		return err
	}
	tag := contact.Tag(contactIn(body))
	locate(e, prefix, e.Request.PathValue("id"), found.ID)
	e.Response.Header().Set("ETag", tag)
	if condition := e.Request.Header.Values("If-None-Match"); len(condition) > 0 && hasTag(condition, tag) {
		return e.NoContent(http.StatusNotModified)
	}
	return e.Blob(http.StatusOK, "application/json", body)
}

func (s *server) createContact(e *core.RequestEvent) error {
	raw, object, err := envelope.ReadJSON(e, maxContactBody)
	if err != nil {
		return err
	}
	caller := identity(e)
	request, err := newIdempotentRequest(e, caller, "POST "+apiPrefix+"/contacts", raw)
	if err != nil {
		return err
	}
	changes, invalid := contact.ParseChanges(e.App, object) // before the transaction, for which other writers wait
	err = s.once(e.App, request, invalid, func() error {
		write := contact.Request{
			Tenant: caller.TenantID,
			Items:  []contact.Item{{Action: contact.Create, Changes: changes}},
			Check:  request.check(caller, credential.ContactsWrite),
			Finish: func(tx sqlite.Reader, results []contact.Result) ([]sqlite.Statement, error) {
				if err := results[0].Err(); err != nil {
					return nil, err
				}
				return request.rememberContact(tx, http.StatusCreated, results[0].Contact)
			},
		}
		return write.Commit(e.Request.Context(), e.App)
	})
	if err != nil && !errors.Is(err, errReplayed) {
		return err
	}
	e.Response.Header().Set("Location", address.Base(e)+request.answer.Location)
	e.Response.Header().Set("ETag", contact.Tag(contactIn([]byte(request.answer.Body))))
	return request.send(e)
}

// rememberContact stores the contact as the response, as remember does.
func (r *idempotentRequest) rememberContact(
	tx sqlite.Reader, status int, written *contact.Contact,
) ([]sqlite.Statement, error) {
	body, err := dataOf(written)
	if err != nil {
		return nil, err
	}
	return r.remember(tx, &idempotency.Answer{
		Status:   status,
		Location: apiPrefix + "/contacts/" + written.ID,
		Body:     string(body),
		Contact:  written.ID,
	})
}

func (s *server) updateContact(e *core.RequestEvent) error {
	caller := identity(e)
	check := func(tx sqlite.Reader) error { return confirm(tx, caller, credential.ContactsWrite) }
	return updateOne(e, caller.TenantID, apiPrefix, check)
}

// updateOne changes the contact of a tenant that the path names, below the prefix.
func updateOne(e *core.RequestEvent, tenantID, prefix string, check func(tx sqlite.Reader) error) error {
	_, object, err := envelope.ReadJSON(e, maxContactBody)
	if err != nil {
		return err
	}
	id := e.Request.PathValue("id")
	changes, invalid := contact.ParseChanges(e.App, object)
	if invalid != nil {
		// an unknown contact is 404, whatever the body
		if _, err := contact.Find(e.App, tenantID, id); err != nil {
			return err
		}
		return invalid
	}
	updated, err := commitOne(e, tenantID, contact.Item{
		Action: contact.Update, Keys: []contact.Key{{Field: contact.ID, Value: id}},
		Changes: changes, Matches: ifMatch(e.Request.Header),
	}, check)
	if err != nil {
		return err
	}
	locate(e, prefix, id, updated.Contact.ID)
	return sendContact(e, http.StatusOK, updated.Contact)
}

// locate says where the contact of the response is, if the id in the path is that of one that was merged into it.
func locate(e *core.RequestEvent, prefix, id, found string) {
	if id != found {
		e.Response.Header().Set("Content-Location", address.Base(e)+prefix+"/contacts/"+found)
	}
}

func (s *server) deleteContact(e *core.RequestEvent) error {
	caller := identity(e)
	check := func(tx sqlite.Reader) error { return confirm(tx, caller, credential.ContactsDelete) }
	return deleteOne(e, caller.TenantID, apiPrefix, check)
}

// deleteOne deletes the contact of a tenant that the path names, below the prefix. The id of one that was merged does
// not delete the one that remains.
func deleteOne(e *core.RequestEvent, tenantID, prefix string, check func(tx sqlite.Reader) error) error {
	id := e.Request.PathValue("id")
	deleted, err := commitOne(e, tenantID, contact.Item{
		Action: contact.Delete, Keys: []contact.Key{{Field: contact.ID, Value: id}}, Matches: ifMatch(e.Request.Header),
	}, check)
	if errors.Is(err, contact.ErrMerged) {
		locate(e, prefix, id, deleted.Contact.ID)
	}
	if err != nil {
		return err
	}
	return e.NoContent(http.StatusNoContent)
}

// commitOne writes a change of a contact of a tenant, if check allows it.
func commitOne(
	e *core.RequestEvent, tenantID string, item contact.Item, check func(tx sqlite.Reader) error,
) (result contact.Result, err error) {
	write := contact.Request{
		Tenant: tenantID,
		Items:  []contact.Item{item},
		Check:  check,
		Finish: func(_ sqlite.Reader, results []contact.Result) ([]sqlite.Statement, error) {
			result = results[0]
			return nil, result.Err()
		},
	}
	err = write.Commit(e.Request.Context(), e.App)
	return result, err
}

func sendContact(e *core.RequestEvent, status int, c *contact.Contact) error {
	body, err := dataOf(c)
	if err != nil {
		return err
	}
	e.Response.Header().Set("ETag", contact.Tag(contactIn(body)))
	return e.Blob(status, "application/json", body)
}

// upsertContact creates or updates a contact by its external id.
func (s *server) upsertContact(e *core.RequestEvent) error {
	_, object, err := envelope.ReadJSON(e, maxContactBody)
	if err != nil {
		return err
	}
	changes, err := identified(e.App, object, e.Request.PathValue("externalId"))
	if err != nil {
		return err
	}
	externalID, _ := changes[contact.ExternalID].(string)
	caller := identity(e)
	written, err := commitOne(e, caller.TenantID, contact.Item{
		Action: contact.Upsert, Keys: []contact.Key{{Field: contact.ExternalID, Value: externalID}},
		Changes: changes, Matches: expectation(e.Request.Header),
	}, func(tx sqlite.Reader) error { return confirm(tx, caller, credential.ContactsWrite) })
	if err != nil {
		return err
	}
	if written.Contact.ExternalID != externalID { // it remained when the one with that external id was merged into it
		locate(e, apiPrefix, "", written.Contact.ID)
	}
	if written.Status != contact.Created {
		return sendContact(e, http.StatusOK, written.Contact)
	}
	e.Response.Header().Set("Location", address.Base(e)+apiPrefix+"/contacts/"+written.Contact.ID)
	return sendContact(e, http.StatusCreated, written.Contact)
}

// identified returns the changes to the contact whose external id is in the path. The body may repeat it.
func identified(app core.App, object map[string]any, externalID string) (contact.Changes, error) {
	const field = contact.ExternalID
	sent, both := object[field]
	object[field] = externalID
	changes, err := contact.ParseChanges(app, object)
	if err != nil {
		return nil, err
	}
	if changes[field] == "" {
		return nil, fault.InvalidField(field, fault.CodeRequired, "is required in the path")
	}
	if !both {
		return changes, nil
	}
	again, err := contact.ParseChanges(app, map[string]any{field: sent})
	if err != nil {
		return nil, err
	}
	if again[field] != changes[field] {
		return nil, fault.InvalidField(field, fault.CodeInvalidValue, "must equal the one in the path, or be left out")
	}
	return changes, nil
}

// expectation returns the condition of If-Match or If-None-Match for the contact, which is nil if none exists.
// Without a condition, it returns nil.
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
		return err == nil && !hasTag(none, tag)
	}
}

// ifMatch returns the condition of If-Match, nil without one.
func ifMatch(header http.Header) func(*contact.Contact) bool {
	condition := header.Values("If-Match")
	if len(condition) == 0 {
		return nil
	}
	return func(c *contact.Contact) bool {
		tag, err := c.ETag()
		return err == nil && hasTag(condition, tag)
	}
}

const dataPrefix = `{"data":`

// dataOf returns the envelope of a contact; contactIn returns the contact in it.
func dataOf(c *contact.Contact) ([]byte, error) {
	body, err := c.AppendJSON(append(make([]byte, 0, 512), dataPrefix...))
	return append(body, '}'), err
}

func contactIn(body []byte) []byte { return body[len(dataPrefix) : len(body)-1] }

// hasTag reports whether a list of entity tags contains tag. Proxies that compress a response make its tag weak, or
// append to it inside the quotes: W/ and whatever follows the digits are ignored. RFC 9110, 13.1.1, demands a strong
// comparison, with which such a client could never write.
func hasTag(condition []string, tag string) bool {
	digits := strings.TrimSuffix(tag, `"`) // with the quote before them
	listed := strings.Split(strings.Join(condition, ","), ",")
	return slices.ContainsFunc(listed, func(candidate string) bool {
		candidate = strings.TrimSpace(candidate)
		return candidate == "*" || strings.HasPrefix(strings.TrimPrefix(candidate, "W/"), digits)
	})
}
