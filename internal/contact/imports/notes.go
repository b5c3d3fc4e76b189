package imports

import (
	"database/sql"
	"encoding/json"
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// Note is what a person should know about a row that is applied.
type Note struct {
	Row  int    `json:"row"` // as a spreadsheet shows it
	Text string `json:"text"`

	contact string // the id of the row's contact: a warning quotes its values
}

// MaxNotes is the maximum number of notes of an import that are kept. All are counted.
const MaxNotes = 1_000

// Notes returns up to limit notes of an import, the first ones.
func Notes(app core.App, id string, limit int) (found []Note, err error) {
	const notesSQL = "SELECT `row`, `text` FROM `_importNotes` WHERE `import` = ? ORDER BY `row`, `text` LIMIT ?"
	err = sqlite.Each(sqlite.Direct(app.ConcurrentDB()), notesSQL, func(rows *sql.Rows) error {
		note := Note{}
		err := rows.Scan(&note.Row, &note.Text)
		found = append(found, note)
		return err
	}, id, limit)
	if err != nil {
		return nil, fmt.Errorf("reading the notes of the import %s: %w", id, err)
	}
	return found, nil
}

// noteInserts returns the statement that stores notes, unless there are up to limit then.
func (i *Import) noteInserts(notes []Note, limit int) ([]sqlite.Statement, error) {
	if len(notes) == 0 {
		return nil, nil
	}
	rows := make([][3]any, len(notes))
	for n, note := range notes {
		rows[n] = [3]any{note.Row, note.Text, note.contact}
	}
	encoded, err := json.Marshal(rows)
	return []sqlite.Statement{{
		Text: "INSERT OR IGNORE INTO `_importNotes` (`import`, `tenant`, `row`, `text`, `contact`) " +
			"SELECT ?1, ?2, `value` ->> 0, `value` ->> 1, `value` ->> 2 FROM json_each(?3) " +
			"LIMIT max(?4 - (SELECT count(*) FROM `_importNotes` WHERE `import` = ?1), 0)",
		Args: []any{i.ID, i.Tenant, string(encoded), limit},
	}}, err
}

// Erase deletes up to limit notes about deleted contacts, and rows that say which of them an import has changed. It
// returns how many it deleted.
func Erase(tx core.App, contacts []string, limit int) (deleted int, err error) {
	for _, statement := range eraseSQL {
		args := []any{sqlite.List(contacts), limit - deleted}
		found, err := sqlite.Run(tx, []sqlite.Statement{{Text: statement, Args: args}})
		if err != nil {
			return 0, fmt.Errorf("erasing what imports have about contacts: %w", err)
		}
		deleted += int(found[0])
	}
	return deleted, nil
}

var eraseSQL = []string{
	"DELETE FROM `_importNotes` WHERE rowid IN (SELECT rowid FROM `_importNotes` " +
		"WHERE `contact` != '' AND `contact` IN (SELECT `value` FROM json_each(?1)) LIMIT ?2)",
	"DELETE FROM `_importContacts` WHERE rowid IN (SELECT rowid FROM `_importContacts` " +
		"WHERE `contact` IN (SELECT `value` FROM json_each(?1)) LIMIT ?2)",
}

// repeats returns the earlier rows that have changed the contacts of rows, and keeps these rows, in the
// transaction of tx.
func (i *Import) repeats(tx core.App) func(rows map[string]int) (map[string]int, error) {
	return func(rows map[string]int) (map[string]int, error) {
		encoded, err := json.Marshal(rows)
		if err != nil {
			return nil, err
		}
		earlier := map[string]int{}
		const earlierSQL = "SELECT `contact`, `row` FROM `_importContacts` " +
			"WHERE `import` = ? AND `contact` IN (SELECT `key` FROM json_each(?))"
		err = sqlite.Each(sqlite.ReaderOf(tx), earlierSQL, func(rows *sql.Rows) error {
			contact, row := "", 0
			err := rows.Scan(&contact, &row)
			earlier[contact] = row
			return err
		}, i.ID, string(encoded))
		if err == nil {
			_, err = sqlite.Run(tx, []sqlite.Statement{{
				Text: "INSERT OR IGNORE INTO `_importContacts` (`import`, `tenant`, `contact`, `row`) " +
					"SELECT ?, ?, `key`, `value` FROM json_each(?)",
				Args: []any{i.ID, i.Tenant, string(encoded)},
			}})
		}
		return earlier, err
	}
}
