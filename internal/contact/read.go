package contact

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/custom"
	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

// How a contact c of a tenant is found by a key: the rest of a SELECT, whose parameters are the tenant and the key.
const (
	byID         = "`contacts` c WHERE c.`tenant` = ? AND c.`id` = ?"
	byExternalID = "`contacts` c WHERE c.`tenant` = ? AND c.`externalId` = ? AND c.`externalId` != ''"
	withEmail    = "`_contactSearch` s CROSS JOIN `contacts` c ON c.`id` = s.`contact` " +
		"WHERE s.`tenant` = ? AND s.`email` = ? AND s.`email` != ''"
	withPhone = "`contacts` c WHERE c.`tenant` = ? AND c.`phone` = ? AND c.`phone` != ''"

	oldestByEmail = " ORDER BY s.`seq` LIMIT 1"
	oldestByPhone = " ORDER BY c.`created`, c.`id` LIMIT 1"

	// Behind the contact ?3. One that was deleted meanwhile is no place to go on from: then from the beginning.
	behindByEmail = " AND s.`seq` > coalesce((SELECT `seq` FROM `_contactSearch` WHERE `contact` = ?3), 0)"
	behindByPhone = " AND (c.`created`, c.`id`) > (coalesce((SELECT `created` FROM `contacts` WHERE `id` = ?3), ''), ?3)"
)

// oneBy has how the contact of a key is found, by the key's field. nextBy finds the next one behind another contact
// with the key.
var (
	oneBy = map[string]string{
		ID: byID, ExternalID: byExternalID, Email: withEmail + oldestByEmail, Phone: withPhone + oldestByPhone,
	}
	nextBy = map[string]string{
		Email: withEmail + behindByEmail + oldestByEmail, Phone: withPhone + behindByPhone + oldestByPhone,
	}
)

// Find returns a contact of the tenant, or ErrNotFound. The id of one that was merged finds the one that remains.
func Find(app core.App, tenantID, id string) (*Contact, error) {
	for _, by := range []string{byID, byLead} {
		found, err := Select(app, func(columns string) (string, []any) {
			return "SELECT " + columns + " FROM " + by, []any{tenantID, id}
		})
		if err != nil && !strings.Contains(err.Error(), "no such table: _mergedContacts") { // during an upgrade
			return nil, err
		}
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return nil, ErrNotFound
}

// FindAllByEmail returns up to limit of the tenant's contacts with that email address, ignoring case, the newest first.
func FindAllByEmail(app core.App, tenantID, email string, limit int) ([]*Contact, error) {
	return Select(app, func(columns string) (string, []any) {
		return "SELECT " + columns + " FROM " + withEmail +
			" ORDER BY s.`seq` DESC LIMIT ?", []any{tenantID, search.FoldEmail(email), limit}
	})
}

// FindAll returns the tenant's contacts among those with these ids, by their ids.
func FindAll(app core.App, tenantID string, ids []string) (map[string]*Contact, error) {
	found, err := Select(app, func(columns string) (string, []any) {
		return "SELECT " + columns +
				" FROM json_each(?) j CROSS JOIN `contacts` c ON c.`id` = j.`value` WHERE c.`tenant` = ?",
			[]any{sqlite.List(ids), tenantID}
	})
	byID := make(map[string]*Contact, len(found))
	for _, c := range found {
		byID[c.ID] = c
	}
	return byID, err
}

// Select returns the contacts that a query finds. query returns its text and arguments, given the columns of a
// contact c that it has to select. It may be called several times, also because the collection was outdated: see
// custom.RetryOutdated.
func Select(app core.App, query func(columns string) (string, []any)) (found []*Contact, err error) {
	err = custom.RetryOutdated(app, func(app core.App) error {
		s, err := schemaFor(app)
		if err == nil {
			found, err = s.query(sqlite.Direct(app.ConcurrentDB()), s.custom, query)
		}
		return err
	})
	return found, err
}

// query is Select with a reader, and with the admin's fields to read.
func (s *schema) query(
	tx sqlite.Reader, fields []core.Field, query func(columns string) (string, []any),
) ([]*Contact, error) {
	added := ""
	for _, field := range fields {
		added += ", c.`" + field.GetName() + "`"
	}
	text, args := query(joinedColumns + added)
	found, err := s.scanAll(tx, true, fields, text, args)
	if errors.Is(err, errSeparator) {
		text, args = query(scannedColumns + added)
		found, err = s.scanAll(tx, false, fields, text, args)
	}
	return found, err
}

func (s *schema) scanAll(
	tx sqlite.Reader, joined bool, fields []core.Field, text string, args []any,
) (found []*Contact, err error) {
	scanner := s.scanner(joined, fields)
	err = sqlite.Each(tx, text, func(rows *sql.Rows) error {
		c, err := scanner.scan(rows)
		found = append(found, c)
		return err
	}, args...)
	if err != nil {
		return nil, fmt.Errorf("reading contacts: %w", err)
	}
	return found, nil
}

// findRecord returns the stored record of a contact of the tenant, or ErrNotFound.
func findRecord(app core.App, collection *core.Collection, tenantID, id string) (*core.Record, error) {
	record := &core.Record{}
	err := app.RecordQuery(collection).AndWhere(dbx.HashExp{"id": id, "tenant": tenantID}).Limit(1).One(record)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ErrNotFound
	}
	if err != nil {
		return nil, fmt.Errorf("reading the contact %s: %w", id, err)
	}
	return record, nil
}
