package hooks

import (
	"fmt"

	validation "github.com/pocketbase/ozzo-validation/v4"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/credential"
	"contactbase/internal/inbound"
	"contactbase/internal/member"
	"contactbase/internal/retention"
	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/webhook"
)

// owned are the collections with records of tenants that people administer.
var owned = []string{credential.CollectionName, webhook.CollectionName, inbound.CollectionName, member.CollectionName}

// withRows are the collections with records of tenants that only the program and superusers write. Contacts and
// events have their own checks.
var withRows = []string{inbound.RequestsCollection, "deliveries", "delivery_attempts"}

// ofAccounts are the collections in which PocketBase keeps what it knows about the sign-ins of accounts.
var ofAccounts = []string{
	core.CollectionNameExternalAuths, core.CollectionNameMFAs,
	core.CollectionNameOTPs, core.CollectionNameAuthOrigins,
}

// bindOwners limits the records of tenants. It deletes tenants and webhooks immediately, and their rows
// afterwards in small chunks.
func bindOwners(app core.App, bounds tenant.Bounds, wake func()) {
	owners := []string{tenant.CollectionName, webhook.CollectionName, inbound.CollectionName}
	app.OnRecordDeleteExecute(owners...).BindFunc(deleteOwner)
	app.OnRecordAfterDeleteSuccess(owners...).BindFunc(func(e *core.RecordEvent) error {
		wake()
		return e.Next()
	})
	app.OnRecordValidate(tenant.CollectionName).BindFunc(func(e *core.RecordEvent) error {
		country := contact.CountryCode(e.Record.GetString("country"))
		if e.Record.Set("country", country); country != "" && !contact.IsCountry(country) {
			return validation.Errors{"country": validation.NewError("validation_invalid_value",
				"Must be a two-letter country code, such as DE.")}
		}
		return e.Next()
	})
	app.OnRecordCreateRequest(tenant.CollectionName).BindFunc(refuseNamesake)
	app.OnRecordUpdateRequest(tenant.CollectionName).BindFunc(refuseNamesake)
	app.OnRecordCreateExecute(append(withRows, owned...)...).BindFunc(func(e *core.RecordEvent) error {
		return createOwned(e, bounds)
	})
	app.OnRecordCreateExecute(ofAccounts...).BindFunc(createOfAccount)
	app.OnRecordUpdateExecute(owned...).BindFunc(func(e *core.RecordEvent) error { return updateOwned(e, bounds) })
}

// refuseNamesake rejects a name that another tenant has, if the request asks for that with sameName=false.
func refuseNamesake(e *core.RecordRequestEvent) error {
	name := e.Record.GetString("name")
	if name == e.Record.Original().GetString("name") || e.Request.URL.Query().Get("sameName") != "false" {
		return e.Next()
	}
	const query = "SELECT EXISTS (SELECT 1 FROM `tenants` WHERE `name` = ?)"
	taken, err := sqlite.Value[bool](sqlite.ReaderOf(e.App), query, name)
	if err != nil {
		return fmt.Errorf("looking for a tenant with the same name: %w", err)
	}
	if taken {
		return e.BadRequestError("The record is invalid.", validation.Errors{"name": validation.NewError(
			"validation_tenant_name_taken", "Another tenant has this name. To use it anyway, omit sameName=false.")})
	}
	return e.Next()
}

// bindPartialUpdates makes requests write only the fields that they change. PocketBase writes whole records: a
// request that changes a name would undo a concurrent change of the role, or the revocation of a key.
func bindPartialUpdates(app core.App) {
	app.OnRecordUpdateRequest(administered...).BindFunc(func(e *core.RecordRequestEvent) error {
		e.Record.IgnoreUnchangedFields(true)
		return e.Next()
	})
}

// deleteOwner skips PocketBase's deletion, which would cascade record by record in one transaction, for which
// all writers wait.
func deleteOwner(e *core.RecordEvent) error {
	return sqlite.TransactRecord(e, func(tx core.App) error { return retention.Delete(tx, e.Record) })
}

// createOwned checks in the transaction that the owners of a new record still exist: they may have been deleted since
// the validation, and the record would outlive them.
func createOwned(e *core.RecordEvent, bounds tenant.Bounds) error {
	return sqlite.TransactRecord(e, func(tx core.App) error {
		for column, owner := range tenant.OwnersIn(e.Record.Collection().Name) {
			if err := requireOwner(tx, column, owner, e.Record.GetString(column)); err != nil {
				return err
			}
		}
		return bounds.Enforce(tx, e.Record, isRotated(e.Record), e.Next)
	})
}

// createOfAccount is createOwned for a record of PocketBase's about an account.
func createOfAccount(e *core.RecordEvent) error {
	return sqlite.TransactRecord(e, func(tx core.App) error {
		if err := requireOwner(
			tx, "recordRef", e.Record.GetString("collectionRef"), e.Record.GetString("recordRef"),
		); err != nil {
			return err
		}
		return e.Next()
	})
}

func requireOwner(tx core.App, column, collection, id string) error {
	if _, err := tx.FindRecordById(collection, id); err != nil {
		return validation.Errors{column: validation.NewError("validation_missing_rel_records",
			fmt.Sprintf("The %s %q does not exist.", column, id))}
	}
	return nil
}

// updateOwned applies the bounds to a change that makes a record count, such as a later expiry of an expired key.
func updateOwned(e *core.RecordEvent, bounds tenant.Bounds) error {
	return sqlite.TransactRecord(e, func(tx core.App) error {
		return bounds.Enforce(tx, e.Record, isRotated(e.Record), e.Next)
	})
}
