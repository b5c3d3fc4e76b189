// Package search finds contacts by parts of their texts. Of contacts it knows only the search row that each of them
// has. The row is written with the contact, and added to a trigram index in the background.
package search

import (
	"fmt"

	"contactbase/internal/sqlite"
)

// Row is the search row of a contact. The numbers of a tenant's rows have the order of (createdAt, id).
type Row struct {
	Contact string // id
	Tenant  string
	Email   string // as FoldEmail returns it
	Text    string // as Text returns it
	Name    string // as NameKey returns it
}

const (
	insertSQL = "INSERT INTO `_contactSearch` (`contact`, `tenant`, `email`, `text`, `name`) VALUES (?, ?, ?, ?, ?)"
	updateSQL = "UPDATE `_contactSearch` SET `text` = ?2, `indexed` = iif(`seq` <= " +
		IndexedUpTo + ", 2, `indexed`)%s WHERE `contact` = ?1"
	// Texts that stay as they are need no indexing.
	refoldSQL = "UPDATE `_contactSearch` SET `text` = ?2, `indexed` = iif(`text` != ?2 AND `seq` <= " +
		IndexedUpTo + ", 2, `indexed`), `name` = ?3 WHERE `contact` = ?1"
	noteSQL = "INSERT OR IGNORE INTO `_contactUnindexed` SELECT `seq` " +
		"FROM `_contactSearch` WHERE `contact` = ? AND `seq` <= " + IndexedUpTo
	deleteSQL = "DELETE FROM `_contactSearch` WHERE `contact` = ?"
)

// Insert returns the statement that writes the row of a new contact.
func Insert(row Row) sqlite.Statement {
	return sqlite.Statement{Text: insertSQL, Args: row.args()}
}

// InsertAll returns the statement that writes the rows of many new contacts.
func InsertAll(rows []Row) sqlite.Statement {
	lists := make([][]any, len(rows))
	for i, row := range rows {
		lists[i] = row.args()
	}
	return sqlite.Repeat(insertSQL, lists)
}

// Refold returns the statement that writes what is folded in the rows of contacts once more.
func Refold(rows []Row) sqlite.Statement {
	lists := make([][]any, len(rows))
	for i, row := range rows {
		lists[i] = []any{row.Contact, row.Text, row.Name}
	}
	return sqlite.Repeat(refoldSQL, lists)
}

func (r Row) args() []any { return []any{r.Contact, r.Tenant, r.Email, r.Text, r.Name} }

// Update returns the statement that updates the row of a contact. It sets the email and the name only if they change:
// SQLite rewrites the entry in an index even for the same value, an eighth of all pages that an update writes.
func Update(before, after Row) sqlite.Statement {
	set, args := "", []any{after.Contact, after.Text}
	if after.Email != before.Email {
		set, args = ", `email` = ?3", append(args, after.Email)
	}
	if after.Name != before.Name {
		set, args = set+fmt.Sprintf(", `name` = ?%d", len(args)+1), append(args, after.Name)
	}
	return sqlite.Statement{Text: fmt.Sprintf(updateSQL, set), Args: args}
}

// Delete returns the statements that delete the row of a contact and note that the index has to forget it.
func Delete(contactID string) []sqlite.Statement {
	return []sqlite.Statement{{Text: noteSQL, Args: []any{contactID}}, {Text: deleteSQL, Args: []any{contactID}}}
}
