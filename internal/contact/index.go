package contact

import (
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// IndexNew writes the search row of a new contact. The rows of a tenant stand in the order of (createdAt, id).
func IndexNew(tx core.App, tenantID string, c *Contact) error {
	return index(tx, dbx.Params{"contact": c.ID, "tenant": tenantID, "email": foldEmail(c.Email), "text": searchText(c)},
		"INSERT INTO {{_contactSearch}} ([[contact]], [[tenant]], [[email]], [[text]]) VALUES ({:contact}, {:tenant}, {:email}, {:text})")
}

// IndexChanged renews the search row of a contact.
func IndexChanged(tx core.App, c *Contact) error {
	return index(tx, dbx.Params{"contact": c.ID, "email": foldEmail(c.Email), "text": searchText(c)},
		"UPDATE {{_contactSearch}} SET [[email]] = {:email}, [[text]] = {:text}, [[indexed]] = iif([[indexed]] = 0, 0, 2) WHERE [[contact]] = {:contact}")
}

// IndexDeleted removes the search row of a contact.
func IndexDeleted(tx core.App, id string) error {
	return index(tx, dbx.Params{"contact": id},
		"INSERT OR IGNORE INTO {{_contactUnindexed}} SELECT [[seq]] FROM {{_contactSearch}} WHERE [[contact]] = {:contact} AND [[indexed]] != 0",
		"DELETE FROM {{_contactSearch}} WHERE [[contact]] = {:contact}")
}

func index(tx core.App, params dbx.Params, statements ...string) error {
	for _, statement := range statements {
		if _, err := tx.DB().NewQuery(statement).Bind(params).Execute(); err != nil {
			return fmt.Errorf("indexing the contact %s: %w", params["contact"], err)
		}
	}
	return nil
}

// IndexPending brings up to limit search rows into the index of trigrams, or out of it, and tells how many there
// were. A trigram costs a write many times more alone than in a batch; until then a search reads the row itself.
func IndexPending(app core.App, limit int) (done int, err error) {
	err = app.RunInTransaction(func(tx core.App) error {
		var pending []struct {
			Seq     int64  `db:"seq"`
			Text    string `db:"text"`
			Indexed int    `db:"indexed"` // -1 for a row that is gone
		}
		err := tx.DB().NewQuery(
			"SELECT [[seq]], '' AS [[text]], -1 AS [[indexed]] FROM {{_contactUnindexed}} UNION ALL " +
				"SELECT [[seq]], [[text]], [[indexed]] FROM {{_contactSearch}} WHERE [[indexed]] != 1 LIMIT {:limit}",
		).Bind(dbx.Params{"limit": limit}).All(&pending)
		if err != nil {
			return err
		}
		done = len(pending)
		for _, row := range pending {
			params := dbx.Params{"seq": row.Seq, "text": row.Text}
			var statements []string
			if row.Indexed != 0 {
				statements = append(statements, "DELETE FROM {{_contactGrams}} WHERE [[rowid]] = {:seq}")
			}
			if row.Indexed < 0 {
				statements = append(statements, "DELETE FROM {{_contactUnindexed}} WHERE [[seq]] = {:seq}")
			} else {
				statements = append(statements,
					"INSERT INTO {{_contactGrams}} ([[rowid]], [[text]]) VALUES ({:seq}, {:text})",
					"UPDATE {{_contactSearch}} SET [[indexed]] = 1 WHERE [[seq]] = {:seq}")
			}
			for _, statement := range statements {
				if _, err := tx.DB().NewQuery(statement).Bind(params).Execute(); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("indexing trigrams: %w", err)
	}
	return done, nil
}
