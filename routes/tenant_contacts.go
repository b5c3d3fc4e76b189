package routes

import (
	"net/url"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/address"
	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/member"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
	"contactbase/routes/envelope"
	"contactbase/routes/integrations"
)

// The contacts of a tenant, for superusers and members: what the API has for keys.

// tenantContacts are the handlers of these routes.
func (s *server) tenantContacts() integrations.Contacts {
	return integrations.Contacts{
		List: s.listTenantContacts, Count: s.countTenantContacts, Read: readTenantContact,
		Update: updateTenantContact, Delete: deleteTenantContact, Merge: s.mergeTenantContacts,
	}
}

func (s *server) listTenantContacts(e *core.RequestEvent) error {
	owner, importID, values, err := tenantQuery(e)
	if err != nil {
		return err
	}
	base := address.Base(e) + adminPrefix + "/contacts?tenant=" + url.QueryEscape(owner) + "&"
	if importID != "" {
		base += "import=" + url.QueryEscape(importID) + "&"
	}
	return s.sendPage(e, owner, values, base, importID)
}

func (s *server) countTenantContacts(e *core.RequestEvent) error {
	owner, importID, values, err := tenantQuery(e)
	if err != nil {
		return err
	}
	return s.sendCount(e, owner, values, importID)
}

// importIn takes the import whose contacts the request lists out of the parameters, "" for none. It adds the times
// between which the import has created them, so that the list reads few others.
func importIn(e *core.RequestEvent, owner string, values url.Values) (id string, err error) {
	id = values.Get("import")
	values.Del("import")
	if id == "" {
		return "", nil
	}
	start, end, err := imports.Period(e.App, owner, id)
	if err != nil {
		return "", err
	}
	if !values.Has("createdSince") {
		values.Set("createdSince", stamp.Shown(start))
	}
	if !values.Has("createdBefore") && !end.IsZero() {
		values.Set("createdBefore", stamp.Shown(end))
	}
	return id, nil
}

// tenantQuery returns the tenant whose contacts the request lists, the import that has created them, "" for any, and
// its other parameters. Members need not name their tenant.
func tenantQuery(e *core.RequestEvent) (owner, importID string, values url.Values, err error) {
	if values, err = queryOf(e); err != nil {
		return "", "", nil, err
	}
	values.Del("tenant")
	owner, err = integrations.ListedTenant(e)
	if err == nil && owner == "" {
		err = envelope.InvalidParameter("tenant", "must be the ID of a tenant")
	}
	if err == nil && !member.Is(e.Auth) {
		_, err = e.App.FindRecordById(tenant.CollectionName, owner)
	}
	if err == nil {
		importID, err = importIn(e, owner, values)
	}
	return owner, importID, values, err
}

func readTenantContact(e *core.RequestEvent) error {
	owner, err := tenantOfContact(e)
	if err != nil {
		return err
	}
	return sendFound(e, owner, adminPrefix)
}

func updateTenantContact(e *core.RequestEvent) error {
	owner, err := tenantOfContact(e)
	if err != nil {
		return err
	}
	return updateOne(e, owner, adminPrefix, unchecked)
}

func deleteTenantContact(e *core.RequestEvent) error {
	owner, err := tenantOfContact(e)
	if err != nil {
		return err
	}
	return deleteOne(e, owner, adminPrefix, unchecked)
}

// unchecked is the check of writes by superusers and members, whom the scope of the route has admitted.
func unchecked(sqlite.Reader) error { return nil }

// ownerSQL returns the tenant of the contact ?1, which may have been merged into another one of the tenant.
const ownerSQL = "SELECT coalesce((SELECT `tenant` FROM `contacts` WHERE `id` = ?1), " +
	"(SELECT `tenant` FROM `events` WHERE `contact` = ?1 LIMIT 1), '')"

// tenantOfContact returns the tenant of the contact in the path: for members their own.
func tenantOfContact(e *core.RequestEvent) (string, error) {
	if member.Is(e.Auth) {
		return member.TenantOf(e.Auth), nil
	}
	owner, err := sqlite.Value[string](sqlite.Direct(e.App.ConcurrentDB()), ownerSQL, e.Request.PathValue("id"))
	if err == nil && owner == "" {
		err = contact.ErrNotFound
	}
	return owner, err
}
