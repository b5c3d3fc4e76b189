package contact

import (
	"database/sql"
	"fmt"
	"maps"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

// The old ids of merged contacts lead to the contact that remains. A contact that exists wins over them, and they are
// looked up only where none does.

// ErrMerged means that the contact to delete was merged into another one, which the caller does not mean.
var ErrMerged = fault.New(fault.MergedContact,
	"This contact was merged into another one and is deleted already. To delete that one, use its own ID.")

// leadBy has the condition on the rows m of `_mergedContacts` that have a key, by the key's field.
var leadBy = map[string]string{
	ID:         "m.`tenant` = ?1 AND m.`oldId` = %s",
	ExternalID: "m.`tenant` = ?1 AND m.`oldExternalId` = %s AND m.`oldExternalId` != ''",
}

var leadSQL, leadsSQL = func() (one, many map[string]string) {
	one, many = map[string]string{}, map[string]string{}
	for field, by := range leadBy {
		one[field] = "SELECT m.`contact` FROM `_mergedContacts` m WHERE " + fmt.Sprintf(by, "?2") + " LIMIT 1"
		many[field] = "SELECT j.`value`, m.`contact` FROM json_each(?2) j CROSS JOIN `_mergedContacts` m ON " +
			fmt.Sprintf(by, "j.`value`")
	}
	return one, many
}()

// byLead is the rest of a SELECT that finds the contact c into which the one with an id was merged: see byID.
var byLead = "`contacts` c WHERE c.`tenant` = ?1 AND c.`id` = (" + leadSQL[ID] + ")"

// follow returns the contact into which the one of a key was merged, nil if none was.
func (f *finder) follow(key Key) (*Contact, error) {
	id, err := f.lead(key)
	if err != nil || id == "" {
		return nil, err
	}
	return f.find(Key{ID, id})
}

// lead returns the id of the contact into which the one of a key was merged, "" if none was.
func (f *finder) lead(key Key) (string, error) {
	query := leadSQL[key.Field]
	if query == "" || key.Value == "" || key.Field == ExternalID && f.taken[key.Value] {
		return "", nil
	}
	if id, known := f.leads[key]; known {
		return id, nil
	}
	id := ""
	if _, err := sqlite.Row(f.tx, []any{&id}, query, f.tenantID, key.Value); err != nil {
		return "", fmt.Errorf("looking for a merged contact: %w", err)
	}
	return id, nil
}

// loadLeads reads where those keys lead for which load has found no contact.
func (f *finder) loadLeads() error {
	f.leads = map[Key]string{}
	missing := map[string][]string{}
	for key, found := range f.ahead {
		if found == nil && leadsSQL[key.Field] != "" {
			missing[key.Field] = append(missing[key.Field], key.Value)
			f.leads[key] = ""
		}
	}
	for field, values := range missing {
		err := sqlite.Each(f.tx, leadsSQL[field], func(rows *sql.Rows) error {
			value, id := "", ""
			err := rows.Scan(&value, &id)
			f.leads[Key{field, value}] = id
			return err
		}, f.tenantID, sqlite.List(values))
		if err != nil {
			return fmt.Errorf("looking for merged contacts: %w", err)
		}
	}
	return nil
}

// withoutLead returns the changes to a contact that an old id has led to, without an external id that leads to it as
// well: it keeps its own.
func (f *finder) withoutLead(changes Changes, found *Contact) (Changes, error) {
	externalID, _ := changes[ExternalID].(string)
	if externalID == "" || externalID == found.ExternalID {
		return changes, nil
	}
	id, err := f.lead(Key{ExternalID, externalID})
	if err == nil && id == found.ID {
		changes = maps.Clone(changes)
		delete(changes, ExternalID)
	}
	return changes, err
}

// take notes that the external id of a contact, which it has just got, leads to no other one any more.
func (f *finder) take(externalID string) {
	if f.taken == nil {
		f.taken = map[string]bool{}
	}
	f.taken[externalID] = true
}

// The statements that keep `_mergedContacts`: of a contact that gets an external id, of one that is deleted, and of
// those that are merged.
const (
	takeSQL = "UPDATE OR REPLACE `_mergedContacts` SET `oldExternalId` = '' " +
		"WHERE `tenant` = ? AND `oldExternalId` = ? AND `oldExternalId` != '' AND `contact` != ?"
	forgetSQL = "DELETE FROM `_mergedContacts` WHERE `contact` = ?"
	passOnSQL = "UPDATE `_mergedContacts` SET `contact` = ?1 WHERE rowid IN (SELECT rowid FROM `_mergedContacts` " +
		"WHERE `contact` IN (SELECT `value` FROM json_each(?2)) ORDER BY rowid DESC LIMIT ?3)"
	mergedSQL = "INSERT OR REPLACE INTO `_mergedContacts` " +
		"(`tenant`, `oldId`, `oldExternalId`, `contact`) VALUES (?, ?, ?, ?)"
	trimSQL = "DELETE FROM `_mergedContacts` WHERE rowid IN (SELECT rowid FROM `_mergedContacts` " +
		"WHERE `contact` = ? ORDER BY rowid DESC LIMIT -1 OFFSET ?)"
)

// maxOldIDs is how many old ids lead to a contact, the latest: a merge of contacts that have many of them passes these
// on while others wait for the writer.
const maxOldIDs = 1_000

// mergedStatements returns the statements after which the deleted contacts of a merge, and what leads to them, lead to
// the remaining one, as does an external id that it has lost.
func mergedStatements(tenantID string, remaining, before *Contact, deleted []*Contact) []sqlite.Statement {
	ids, rows := []string{}, [][]any{}
	for _, c := range deleted {
		ids, rows = append(ids, c.ID), append(rows, []any{tenantID, c.ID, c.ExternalID, remaining.ID})
	}
	if before.ExternalID != remaining.ExternalID {
		rows = append(rows, []any{tenantID, before.ID, before.ExternalID, remaining.ID})
	}
	return []sqlite.Statement{
		{Text: passOnSQL, Args: []any{remaining.ID, sqlite.List(ids), maxOldIDs}}, sqlite.Repeat(mergedSQL, rows),
		{Text: trimSQL, Args: []any{remaining.ID, maxOldIDs}},
	}
}
