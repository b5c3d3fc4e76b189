package imports

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/sheet"
	"contactbase/internal/sqlite"
	"contactbase/internal/wire"
)

// Note is what a person should know about a row that is applied.
type Note struct {
	Row  int    `json:"row"` // as a spreadsheet shows it
	Text string `json:"text"`
}

// MaxNotes is how many notes of an import a command prints at most.
const MaxNotes = 1_000

// maxNoteText is the maximum length of what is kept about a row, in bytes, apart from its cells.
const maxNoteText = 1_000

// note has all notes about a row.
type note struct {
	row     int
	texts   []string
	contact string // the id of the row's contact: a warning quotes its values
	cells   []string
}

// text returns the texts in one line each. No text has a line break.
func (n *note) text() string {
	text := strings.Join(n.texts, "\n")
	if len(text) <= maxNoteText {
		return text
	}
	return strings.ToValidUTF8(text[:maxNoteText], "") + "…"
}

const notesSQL = "SELECT `row`, `text`, `cells` FROM `_importNotes` " +
	"WHERE `import` = ? AND `row` > ? ORDER BY `row`, `text` LIMIT ?"

// Notes returns up to limit notes of an import, the first ones.
func Notes(app core.App, id string, limit int) ([]Note, error) {
	rows, err := notes(app, id, -1, limit)
	var found []Note
	for _, row := range rows {
		found = row.appendTo(found)
	}
	return found[:min(len(found), limit)], err
}

func (n *note) appendTo(found []Note) []Note {
	for _, text := range n.texts {
		found = append(found, Note{n.row, text})
	}
	return found
}

// notes returns the notes about up to limit rows of an import after a row.
func notes(app core.App, id string, after, limit int) (found []note, err error) {
	err = sqlite.Each(sqlite.Direct(app.ConcurrentDB()), notesSQL, func(rows *sql.Rows) error {
		read, text, cells := note{}, "", ""
		if err := rows.Scan(&read.row, &text, &cells); err != nil {
			return err
		}
		read.texts = strings.Split(text, "\n")
		found = append(found, read)
		if cells == "" { // it is about the whole file, or an earlier version wrote it
			return nil
		}
		return json.Unmarshal([]byte(cells), &found[len(found)-1].cells)
	}, id, after, limit)
	if err != nil {
		return nil, fmt.Errorf("reading the notes of the import %s: %w", id, err)
	}
	return found, nil
}

// noteInserts returns the statement that stores notes.
func (i *Import) noteInserts(notes []note) ([]sqlite.Statement, error) {
	if len(notes) == 0 {
		return nil, nil
	}
	rows := make([][4]any, len(notes))
	for n, note := range notes {
		rows[n] = [4]any{note.row, note.text(), note.contact, ""}
		if note.cells == nil {
			continue
		}
		cells, err := wire.AppendJSON(nil, sheet.Trim(note.cells))
		if err != nil {
			return nil, err
		}
		rows[n][3] = string(cells)
	}
	encoded, err := wire.AppendJSON(nil, rows)
	return []sqlite.Statement{{
		Text: "INSERT OR IGNORE INTO `_importNotes` (`import`, `tenant`, `row`, `text`, `contact`, `cells`) " +
			"SELECT ?1, ?2, `value` ->> 0, `value` ->> 1, `value` ->> 2, `value` ->> 3 FROM json_each(?3)",
		Args: []any{i.ID, i.Tenant, string(encoded)},
	}}, err
}

// Erase deletes up to limit notes about deleted contacts, and rows that say which of them an import has changed. It
// returns how many it deleted.
func Erase(tx core.App, contacts []string, limit int) (deleted int, err error) {
	for _, statement := range eraseSQL {
		found, err := sqlite.Exec(tx, statement, sqlite.List(contacts), limit-deleted)
		if err != nil {
			return 0, fmt.Errorf("erasing what imports have about contacts: %w", err)
		}
		deleted += found
	}
	return deleted, nil
}

var eraseSQL = []string{
	"DELETE FROM `_importNotes` WHERE rowid IN (SELECT rowid FROM `_importNotes` " +
		"WHERE `contact` != '' AND `contact` IN (SELECT `value` FROM json_each(?1)) LIMIT ?2)",
	"DELETE FROM `_importCreated` WHERE rowid IN (SELECT rowid FROM `_importCreated` " +
		"WHERE `contact` IN (SELECT `value` FROM json_each(?1)) LIMIT ?2)",
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
			_, err = sqlite.Exec(tx, "INSERT OR IGNORE INTO `_importContacts` (`import`, `tenant`, `contact`, `row`) "+
				"SELECT ?, ?, `key`, `value` FROM json_each(?)", i.ID, i.Tenant, string(encoded))
		}
		return earlier, err
	}
}
