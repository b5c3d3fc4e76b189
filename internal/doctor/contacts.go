package doctor

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"contactbase/internal/sqlite"
)

// maxNamed is how many contacts a finding names.
const maxNamed = 3

// contacts looks for contacts with text that is not valid UTF-8. An export contains it unchanged, and the
// tenant cannot be moved.
func (x *examination) contacts() error {
	rows, err := sqlite.Reader(x.data).Query("SELECT id, * FROM contacts ORDER BY rowid")
	if err != nil {
		return err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]sql.RawBytes, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	count, named := 0, []string{}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return err
		}
		wrong := slices.IndexFunc(values, func(value sql.RawBytes) bool { return !utf8.Valid(value) })
		if wrong < 0 {
			continue
		}
		if count++; count <= maxNamed {
			named = append(named, fmt.Sprintf("%s (%s)", values[0], columns[wrong]))
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if count == 0 {
		x.add("contacts", OK, "all text is valid UTF-8", "")
		return nil
	}
	if count > maxNamed {
		named = append(named, "…")
	}
	x.add("contacts", Failed,
		fmt.Sprintf("%d contacts contain text that is not valid UTF-8: %s", count, strings.Join(named, ", ")),
		"correct these fields in the dashboard or with PATCH; "+
			"until then the tenant cannot be moved, and contact export writes invalid UTF-8")
	return nil
}
