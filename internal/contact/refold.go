package contact

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

// earlierSQL selects the contacts of the next search rows that an earlier version has folded.
var earlierSQL = "SELECT s.`seq`, c.`id`" +
	strings.Join(eachField(func(f *Field) string { return ", c.`" + f.Name + "`" }), "") +
	" FROM `_contactSearch` s CROSS JOIN `contacts` c ON c.`id` = s.`contact` " +
	"WHERE s.`seq` > (SELECT `upTo` FROM `_contactFolded`) AND s.`seq` <= (SELECT `last` FROM `_contactFolded`) " +
	"ORDER BY s.`seq` LIMIT ?"

const refoldedSQL = "UPDATE `_contactFolded` SET `upTo` = iif(?1 = 0, `last`, ?1) WHERE `upTo` < `last`"

// Refold writes up to limit search rows that an earlier version has folded, in the caller's transaction, and returns
// how many. Until there are none left, lists and searches have earlier answers: see search.Advisor.
func Refold(tx core.App, limit int) (int, error) {
	var rows []search.Row
	var seq int64
	err := sqlite.Each(sqlite.ReaderOf(tx), earlierSQL, func(found *sql.Rows) error {
		c := &Contact{}
		into := []any{&seq, &c.ID}
		for _, field := range Fields {
			into = append(into, field.of(c))
		}
		err := found.Scan(into...)
		rows = append(rows, searchRow("", c))
		return err
	}, limit)
	if err != nil {
		return 0, fmt.Errorf("reading contacts for the search: %w", err)
	}
	statements := []sqlite.Statement{{Text: refoldedSQL, Args: []any{seq}}}
	if len(rows) > 0 {
		statements = append(statements, search.Refold(rows))
	}
	if _, err := sqlite.Run(tx, statements); err != nil {
		return 0, fmt.Errorf("folding contacts for the search: %w", err)
	}
	return len(rows), nil
}
