package routes

import (
	"errors"
	"fmt"
	"net/http"
	"path"
	"slices"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/contact"
	"contactbase/internal/credential"
	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/routes/envelope"
)

// merge is a request to merge contacts of a tenant.
type merge struct {
	contact.Merge
	tenantID string
	dryRun   bool
	merged   *contact.Contact // the result
}

// mergeContacts merges contacts for an API key.
func (s *server) mergeContacts(e *core.RequestEvent) error {
	raw, object, err := envelope.ReadJSON(e, maxContactBody)
	if err != nil {
		return err
	}
	caller, id := identity(e), e.Request.PathValue("id")
	request, err := newIdempotentRequest(e, caller, "POST "+apiPrefix+"/contacts/"+id+"/merge", raw)
	if err != nil {
		return err
	}
	m, invalid := newMerge(e, caller.TenantID, id, object)
	err = s.once(e.App, request, invalid, func() error {
		return m.run(e, request.check(caller, credential.ContactsWrite), func(tx core.App) error {
			_, err := sqlite.Write(tx, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
				return request.rememberContact(tx, http.StatusOK, m.merged)
			})
			return err
		})
	})
	if errors.Is(err, errReplayed) {
		locate(e, apiPrefix, id, path.Base(request.answer.Location))
		e.Response.Header().Set("ETag", contact.Tag(contactIn([]byte(request.answer.Body))))
		return request.send(e)
	}
	if err != nil {
		return err
	}
	locate(e, apiPrefix, id, m.merged.ID)
	return sendContact(e, http.StatusOK, m.merged)
}

// mergeTenantContacts merges contacts for a superuser or a member.
func (s *server) mergeTenantContacts(e *core.RequestEvent) error {
	_, object, err := envelope.ReadJSON(e, maxContactBody)
	if err != nil {
		return err
	}
	m, err := newMerge(e, e.Request.PathValue("id"), e.Request.PathValue("contact"), object)
	if err != nil {
		return err
	}
	err = m.run(e, func(sqlite.Reader) error { return nil }, func(tx core.App) error {
		return audit.Write(tx, audit.Entry{
			Tenant: m.tenantID, Action: audit.Merged, Collection: contact.CollectionName, Record: m.merged.ID,
		})
	})
	if err != nil {
		return err
	}
	return sendContact(e, http.StatusOK, m.merged)
}

// run calls check, merges the contacts, and calls finish, in one transaction. A dry run needs none, and
// does not call finish.
func (m *merge) run(
	e *core.RequestEvent, check func(tx sqlite.Reader) error, finish func(tx core.App) error,
) (err error) {
	if m.dryRun {
		if err := check(sqlite.Direct(e.App.ConcurrentDB())); err != nil {
			return err
		}
		m.merged, err = m.Preview(e.App, m.tenantID)
		return err
	}
	return sqlite.Transact(e.Request.Context(), e.App, m.tenantID, false, func(tx core.App) (err error) {
		if err := check(sqlite.ReaderOf(tx)); err != nil {
			return err
		}
		if m.merged, err = m.Apply(tx, m.tenantID); err != nil {
			return err
		}
		return finish(tx)
	})
}

// newMerge reads the request to merge contacts into the one with the id. An unknown contact is 404, whatever the body.
func newMerge(e *core.RequestEvent, tenantID, id string, object map[string]any) (*merge, error) {
	m := &merge{tenantID: tenantID, Merge: contact.Merge{ID: id, Matches: ifMatch(e.Request.Header)}}
	faults, err := m.parse(e.App, object)
	if err != nil || len(faults) == 0 {
		return m, err
	}
	if _, err := contact.Find(e.App, tenantID, id); err != nil {
		return nil, err
	}
	return nil, fault.InvalidRequest(faults)
}

// parse reads the body of the request, and returns the errors in it.
func (m *merge) parse(app core.App, object map[string]any) (fault.Fields, error) {
	var fields map[string]any
	faults := envelope.ReadProperties(object,
		envelope.Property{Name: "from", Required: true, Rule: fmt.Sprintf("must be a list of "+
			"the IDs of 1 to %d other contacts, each once", contact.MaxMerged), Read: m.parseFrom},
		envelope.Property{
			Name: "fields", Rule: "must be an object with the ID of a contact for each field",
			Read: envelope.As(&fields),
		},
		envelope.Property{Name: "dryRun", Rule: "must be true or false", Read: envelope.As(&m.dryRun)},
	)
	if len(faults) > 0 {
		return faults, nil
	}
	return m.parseFields(app, fields)
}

func (m *merge) parseFrom(value any) bool {
	list, _ := value.([]any)
	for _, item := range list {
		id, _ := item.(string)
		if id == "" || id == m.ID || slices.Contains(m.From, id) {
			return false
		}
		m.From = append(m.From, id)
	}
	return len(list) >= 1 && len(list) <= contact.MaxMerged
}

// parseFields reads the ids of the contacts whose values the remaining one gets, and returns the errors in them.
func (m *merge) parseFields(app core.App, sent map[string]any) (fault.Fields, error) {
	own, err := contact.CustomFields(app)
	if err != nil {
		return nil, err
	}
	faults := fault.Fields{}
	m.Fields = make(map[string]string, len(sent))
	for name, value := range sent {
		id, _ := value.(string)
		isOwn := slices.ContainsFunc(own, func(field core.Field) bool { return field.GetName() == name })
		switch {
		case !isOwn && contact.FieldNamed(name) == nil:
			faults[name] = fault.Field{Code: fault.CodeUnknownField, Message: "is not a field that contacts can take over"}
		case id != m.ID && !slices.Contains(m.From, id):
			faults[name] = fault.Field{Code: fault.CodeInvalidValue, Message: "must be the ID of one of these contacts"}
		}
		m.Fields[name] = id
	}
	return faults, nil
}
