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
}

const (
	insertSQL = "INSERT INTO `_contactSearch` (`contact`, `tenant`, `email`, `text`) VALUES (?, ?, ?, ?)"
	updateSQL = "UPDATE `_contactSearch` SET `text` = ?2, `indexed` = iif(`seq` <= " +
		IndexedUpTo + ", 2, `indexed`)%s WHERE `contact` = ?1"
	noteSQL = "INSERT OR IGNORE INTO `_contactUnindexed` SELECT `seq` " +
		"FROM `_contactSearch` WHERE `contact` = ? AND `seq` <= " + IndexedUpTo
	deleteSQL = "DELETE FROM `_contactSearch` WHERE `contact` = ?"
)

var (
	updateTextSQL  = fmt.Sprintf(updateSQL, "")
	updateEmailSQL = fmt.Sprintf(updateSQL, ", `email` = ?3")
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

func (r Row) args() []any { return []any{r.Contact, r.Tenant, r.Email, r.Text} }

// Update returns the statement that updates the row of a contact. It sets the email only if that changes: SQLite
// rewrites the entry in the index even for the same value, an eighth of all pages that an update writes.
func Update(before, after Row) sqlite.Statement {
	if after.Email == before.Email {
		return sqlite.Statement{Text: updateTextSQL, Args: []any{after.Contact, after.Text}}
	}
	return sqlite.Statement{Text: updateEmailSQL, Args: []any{after.Contact, after.Text, after.Email}}
}

// Delete returns the statements that delete the row of a contact and note that the index has to forget it.
func Delete(contactID string) []sqlite.Statement {
	return []sqlite.Statement{{Text: noteSQL, Args: []any{contactID}}, {Text: deleteSQL, Args: []any{contactID}}}
}
