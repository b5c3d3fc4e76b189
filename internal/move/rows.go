package move

import (
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/security"

	"contactbase/internal/member"
	"contactbase/internal/secret"
	"contactbase/internal/sqlite"
	"contactbase/internal/webhook"
)

// How many rows are read at once, and after how many bytes reading stops.
const (
	pageRows  = 500
	pageBytes = 4 << 20
)

// tokenKeyLength is the length of the keys that sign the sessions of members, as PocketBase generates them.
const tokenKeyLength = 50

// page reads the next rows of a table, as this installation stores them.
func (i *importing) page(t *table, after int) (page [][]any, err error) {
	columns, bytes := names(i.held.columns[t]), 0
	query := "SELECT " + quoted(columns, "") + " FROM `archive`.`" + t.name + "` WHERE rowid > ? ORDER BY rowid LIMIT ?"
	rows, err := i.db.Query(query, after, pageRows)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for bytes < pageBytes && rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for n := range values {
			into[n] = &values[n]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		for n, value := range values {
			switch value := value.(type) {
			case string:
				bytes += len(value)
			case []byte:
				bytes += len(value)
			}
			if values[n], err = i.stored(t, columns[n], value); err != nil {
				return nil, err
			}
		}
		page = append(page, values)
	}
	return page, rows.Err()
}

// stored returns a value as this installation stores it.
func (i *importing) stored(t *table, column string, value any) (any, error) {
	text, _ := value.(string)
	switch {
	case t.name == member.CollectionName && column == core.FieldNameTokenKey:
		return security.RandomString(tokenKeyLength), nil // everybody signs in again
	case t.name == webhook.CollectionName && column == webhook.MemberOwnedField && i.distrusts():
		return true, nil
	case text != "" && slices.Contains(t.secrets, column):
		return secret.Seal(i.App, text)
	}
	return value, nil
}

// distrusts reports whether the webhooks may reach public addresses only. Somebody with the passphrase could have
// changed which ones belong to the tenant's members.
func (i *importing) distrusts() bool {
	return !i.Trusted && slices.ContainsFunc(tables, func(t *table) bool {
		return t.name == member.CollectionName && i.held.rows[t] > 0
	})
}

// insertion returns the statement that writes rows.
func (i *importing) insertion(t *table, rows [][]any) sqlite.Statement {
	columns := names(i.held.columns[t])
	return sqlite.Repeat("INSERT INTO `"+t.name+"` ("+quoted(columns, "")+") "+
		"VALUES (?"+strings.Repeat(", ?", len(columns)-1)+")", rows)
}

// textsByColumn returns the rows' text values by column name.
func (i *importing) textsByColumn(t *table, rows [][]any) []map[string]string {
	list := make([]map[string]string, len(rows))
	for n, values := range rows {
		list[n] = make(map[string]string, len(values))
		for at, column := range i.held.columns[t] {
			list[n][column.name], _ = values[at].(string)
		}
	}
	return list
}
