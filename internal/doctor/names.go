package doctor

import (
	"database/sql"
	"fmt"
	"strings"

	"contactbase/internal/contact/search"
	"contactbase/internal/sqlite"
)

// names compares what contacts are sorted by with their names.
func (x *examination) names() error {
	left, err := sqlite.Value[bool](x.data, "SELECT `upTo` < `last` FROM _contactFolded")
	if err != nil {
		return err
	}
	if left {
		x.add("names", Warning, "contacts of an earlier version are still being prepared for the order by name",
			"let the server run, then check again")
		return nil
	}
	count, named := 0, []string{}
	const query = "SELECT c.id, c.name, s.name FROM _contactSearch s JOIN contacts c ON c.id = s.contact ORDER BY s.seq"
	err = sqlite.Each(x.data, query, func(rows *sql.Rows) error {
		var id, name, key string
		if err := rows.Scan(&id, &name, &key); err != nil || key == search.NameKey(name) {
			return err
		}
		if count++; count <= maxNamed {
			named = append(named, id)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if count == 0 {
		x.add("names", OK, "contacts are sorted by their names", "")
		return nil
	}
	if count > maxNamed {
		named = append(named, "…")
	}
	x.add("names", Failed,
		fmt.Sprintf("%d contacts are sorted by another name than their own: %s", count, strings.Join(named, ", ")),
		"they were changed outside the program, for example with SQL: back up, stop the program, run with sqlite3: "+
			"UPDATE _contactFolded SET upTo = 0, last = (SELECT max(seq) FROM _contactSearch), and start it again")
	return nil
}
