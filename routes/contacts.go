package routes

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
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
	query, err := contact.ParseQuery(values)
	var wrong fault.Fields
	if errors.As(err, &wrong) {
		return fault.InvalidParameters(wrong)
	}
	if err != nil {
		return err
	}
	page, err := contact.List(e.App, grant(e).TenantID, query)
	if err != nil {
		return err
	}
	body := make([]byte, 0, 64+256*len(page.Contacts))
	body = append(body, `{"data":[`...)
	for i, c := range page.Contacts {
		if i > 0 {
			body = append(body, ',')
		}
		if body, err = c.AppendJSON(body); err != nil {
			return err
		}
	}
	if page.Next == nil {
		return e.Blob(http.StatusOK, "application/json", append(body, `],"hasMore":false}`...))
	}
	values.Del("offset")
	values.Set("cursor", page.Next.String())
	e.Response.Header().Set("Link", "<"+apiPrefix+"/contacts?"+values.Encode()+`>; rel="next"`)
	return e.Blob(http.StatusOK, "application/json", append(body, `],"hasMore":true}`...))
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
	changes, invalid := contact.ParseChanges(e.App, object) // before the transaction, which others wait for
	call, err := s.begin(key, grant(e).KeyID+" POST "+apiPrefix+"/contacts", raw)
	if err != nil {
		return err
	}
	defer call.end()
	var answer *idempotency.Answer
	_, err = contact.CreateAlso(e.App, grant(e).TenantID, changes, contact.Also{
		Check: func(tx sqlite.Reader) error {
			if err := confirm(tx, grant(e), credential.ContactsWrite); err != nil {
				return err
			}
			if err := call.find(tx); err != nil {
				return err
			}
			return invalid
		},
		Write: func(tx sqlite.Reader, created *contact.Contact) ([]sqlite.Statement, error) {
			if answer, err = createdAnswer(grant(e).TenantID, created); err != nil {
				return nil, err
			}
			return call.remember(tx, answer)
		},
	})
	if errors.Is(err, errReplayed) {
		answer, err = call.answer, nil
		e.Response.Header().Set("Idempotency-Replayed", "true")
	}
	if err != nil {
		return err
	}
	e.Response.Header().Set("Location", answer.Location)
	e.Response.Header().Set("ETag", contact.Tag(contactIn([]byte(answer.Body))))
	return e.Blob(answer.Status, "application/json", []byte(answer.Body))
}

func createdAnswer(tenantID string, created *contact.Contact) (*idempotency.Answer, error) {
	body, err := dataOf(created)
	if err != nil {
		return nil, err
	}
	return &idempotency.Answer{
		Status:   http.StatusCreated,
		Location: apiPrefix + "/contacts/" + created.ID,
		Body:     string(body),
		Contact:  created.ID,
		Tenant:   tenantID,
	}, nil
}

func (s *server) updateContact(e *core.RequestEvent) error {
	_, object, err := readJSON(e, maxContactBody)
	if err != nil {
		return err
	}
	var matches func(*contact.Contact) bool
	if condition := e.Request.Header.Values("If-Match"); len(condition) > 0 {
		matches = func(c *contact.Contact) bool {
			tag, err := c.ETag()
			return err == nil && hasTag(condition, tag, false)
		}
	}
	changes, invalid := contact.ParseChanges(e.App, object)
	if invalid != nil {
		// an unknown contact is that, whatever the body says
		if _, err := contact.Find(e.App, grant(e).TenantID, e.Request.PathValue("id")); err != nil {
			return err
		}
		return invalid
	}
	updated, _, err := contact.UpdateAlso(e.App, grant(e).TenantID, e.Request.PathValue("id"), changes, matches, contact.Also{
		Check: func(tx sqlite.Reader) error { return confirm(tx, grant(e), credential.ContactsWrite) },
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
	if len(sent) > 1 || key == "" || len(key) > idempotency.MaxKeyLength {
		return "", invalidParameter("Idempotency-Key", "must be sent once and have 1 to 255 characters")
	}
	return key, nil
}
