// Package search finds contacts by parts of their texts. It knows nothing of contacts but the search row that each of them
// has: written with the contact, and taken up into an index of trigrams behind the writes.
package search

import "contactbase/internal/sqlite"

// Row is what a contact is found by. The rows of a tenant stand in the order of (createdAt, id).
type Row struct {
	Contact string // its id
	Tenant  string
	Email   string // as FoldEmail returns it
	Text    string // as Text returns it
}

const (
	insertSQL = "INSERT INTO `_contactSearch` (`contact`, `tenant`, `email`, `text`) VALUES (?, ?, ?, ?)"
	updateSQL = "UPDATE `_contactSearch` SET `email` = ?, `text` = ?, `indexed` = iif(`seq` <= " + IndexedUpTo + ", 2, `indexed`) WHERE `contact` = ?"
	noteSQL   = "INSERT OR IGNORE INTO `_contactUnindexed` SELECT `seq` FROM `_contactSearch` WHERE `contact` = ? AND `seq` <= " + IndexedUpTo
	deleteSQL = "DELETE FROM `_contactSearch` WHERE `contact` = ?"
)

// Insert writes the row of a new contact.
func Insert(row Row) sqlite.Statement {
	return sqlite.Statement{Text: insertSQL, Args: row.args()}
}

// InsertAll writes the rows of many new contacts.
func InsertAll(rows []Row) sqlite.Statement {
	lists := make([][]any, len(rows))
	for i, row := range rows {
		lists[i] = row.args()
	}
	return sqlite.Repeat(insertSQL, lists)
}

func (r Row) args() []any { return []any{r.Contact, r.Tenant, r.Email, r.Text} }

// Update renews the row of a contact.
func Update(row Row) sqlite.Statement {
	return sqlite.Statement{Text: updateSQL, Args: []any{row.Email, row.Text, row.Contact}}
}

// Delete removes the row of a contact, and has the index forget it.
func Delete(contactID string) []sqlite.Statement {
	return []sqlite.Statement{{Text: noteSQL, Args: []any{contactID}}, {Text: deleteSQL, Args: []any{contactID}}}
}
