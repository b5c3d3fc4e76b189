package list

import (
	"database/sql"
	"maps"
	"slices"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
)

// values are the parameters of a statement by name. The statement need not use all of them.
type values map[string]any

func (v values) named() []any {
	args := make([]any, 0, len(v))
	for name, value := range v {
		args = append(args, sql.Named(name, value))
	}
	return args
}

// statement reads a page, and one row more. SQLite recompiles a statement whose limit is just a parameter each time a value is bound, to plan
// for that value. The addition in "LIMIT :limit + 0" prevents this.
type statement struct {
	Query
	columns string // of a contact c

	direction string // of the order, in SQL
	beyond    string // the operator that compares with the cursor
	sorted    string // the whole order
	params    values
}

func newStatement(tenantID string, q Query, columns string) *statement {
	order := orders[q.Sort]
	s := &statement{
		Query: q, columns: columns, beyond: ">",
		params: values{"tenant": tenantID, "limit": q.Limit + 1, "offset": q.Offset},
	}
	if order.descending {
		s.direction, s.beyond = " DESC", "<"
	}
	s.sorted = " ORDER BY " + order.column + s.direction + ", c.`id`" + s.direction
	if q.Cursor != nil {
		s.params["cursorValue"], s.params["cursorID"] = q.Cursor.Value, q.Cursor.ID
	}
	return s
}

// throughRows finds the contacts by reading them, or their search rows.
func (s *statement) throughRows() string {
	from, conditions := "`contacts` c", []string{"c.`tenant` = :tenant"}
	orderBy := s.sorted
	index := s.index()
	leads := s.comparesFolded() || len(s.Words) > 0 && index == ""
	switch {
	case index != "":
		from += " INDEXED BY `" + index + "`" // SQLite would read the whole tenant in the order of the list
		if len(s.Words) > 0 {
			from += " CROSS JOIN `_contactSearch` s ON s.`contact` = c.`id`"
		}
	case leads:
		// The search rows come first, so that only the contacts that match are read.
		from = "`_contactSearch` s CROSS JOIN `contacts` c ON c.`id` = s.`contact`"
		conditions = append(conditions, "s.`tenant` = :tenant")
		if s.byTime() {
			orderBy = " ORDER BY s.`seq`" + s.direction // the same order, which an index has
		}
	}
	conditions = append(conditions, s.filters()...)
	if s.Cursor != nil {
		conditions = append(conditions, "("+orders[s.Sort].column+", c.`id`) "+s.beyond+" (:cursorValue, :cursorID)")
		if s.byTime() && leads {
			conditions = append(conditions, s.afterCursor())
		}
	}
	where := " WHERE " + strings.Join(conditions, " AND ") + orderBy
	if s.Offset == 0 {
		return "SELECT " + s.columns + " FROM " + from + where + " LIMIT :limit + 0"
	}
	// Skipped rows are only counted in the index. Only those of the page are read.
	return s.contactsOf("SELECT c.`id` AS `pageId` FROM " + from + where + " LIMIT :limit + 0 OFFSET :offset")
}

// throughTrigrams finds the indexed rows by their trigrams, and the few others by reading them. Each side stops after as many rows as the page
// can need, so that a common word takes no longer than a rare one.
func (s *statement) throughTrigrams(match *search.Match) string {
	condition := "s.`tenant` = :tenant AND " + search.Condition(s.Words, s.params)
	if s.Cursor != nil {
		condition += " AND " + s.afterCursor()
	}
	maps.Copy(s.params, match.Params)
	s.params["reach"] = s.Limit + 1 + s.Offset
	side := func(from, number, which string) string {
		return "SELECT * FROM (SELECT s.`seq`, s.`contact` FROM " + from + " WHERE " + which + " AND " + condition +
			" ORDER BY " + number + s.direction + " LIMIT :reach + 0)"
	}
	const (
		rows    = "`_contactSearch` s"
		through = " INDEXED BY `idx__contactSearch_"
		indexed = "s.`seq` <= " + search.IndexedUpTo
		changed = "s." + search.Changed
	)
	return s.contactsOf("SELECT `contact` AS `pageId` FROM (" +
		side("`_contactGrams` CROSS JOIN "+rows+" ON s.`seq` = `_contactGrams`.`rowid`", "`_contactGrams`.`rowid`", match.SQL+" AND "+indexed+" AND NOT "+changed) +
		" UNION ALL " + side(rows+through+"changed`", "s.`seq`", changed+" AND "+indexed) +
		" UNION ALL " + side(rows+through+"tenant`", "s.`seq`", "s.`seq` > "+search.IndexedUpTo) +
		") ORDER BY `seq`" + s.direction + " LIMIT :limit + 0 OFFSET :offset")
}

// contactsOf reads the contacts whose ids the inner query returns as pageId.
func (s *statement) contactsOf(inner string) string {
	return "SELECT " + s.columns + " FROM (" + inner + ") CROSS JOIN `contacts` c ON c.`id` = `pageId`" + s.sorted
}

// byTime reports whether the order is that of the search rows.
func (q *Query) byTime() bool { return orders[q.Sort].column == orders[defaultSort].column }

// onlySearches reports whether the query selects contacts by words only.
func (q *Query) onlySearches() bool {
	return len(q.Words) > 0 && len(q.Equal) == 0 && q.UpdatedSince == nil
}

// comparesFolded reports whether the query compares a column of the search rows.
func (q *Query) comparesFolded() bool {
	return slices.ContainsFunc(contact.Fields, func(f *contact.Field) bool { _, asked := q.Equal[f.Name]; return asked && f.Folded })
}

// index returns the index that finds the contacts with a value, "" if the query asks for none, or for one in the search rows.
func (q *Query) index() string {
	if q.comparesFolded() {
		return ""
	}
	for _, field := range slices.Backward(contact.Fields) { // an external id, which comes last, has one contact
		if _, asked := q.Equal[field.Name]; asked {
			return "idx_contacts_" + field.Name
		}
	}
	return ""
}

func (s *statement) filters() []string {
	var conditions []string
	if len(s.Words) > 0 {
		conditions = append(conditions, search.Condition(s.Words, s.params))
	}
	for _, field := range contact.Fields {
		value, asked := s.Equal[field.Name]
		if !asked {
			continue
		}
		column := "c.`" + field.Name + "`"
		if field.Folded {
			column, value = "s.`"+field.Name+"`", search.FoldEmail(value)
		}
		s.params[field.Name] = value
		conditions = append(conditions, column+" = :"+field.Name, column+" != ''") // the index has only contacts with a value
	}
	if s.UpdatedSince != nil {
		s.params["updatedSince"] = s.UpdatedSince.String()
		conditions = append(conditions, "c.`updated` >= :updatedSince")
	}
	return conditions
}

// afterCursor returns the condition on a search row to be after the cursor, by its number. If the contact at the cursor was deleted, its
// nearest predecessor counts.
func (s *statement) afterCursor() string {
	compare, direction, none := "<=", " DESC", "0"
	if s.beyond == "<" {
		compare, direction, none = ">=", "", "9223372036854775807"
	}
	return "s.`seq` " + s.beyond + " ifnull((SELECT `seq` FROM `_contactSearch` WHERE `contact` = (SELECT p.`id` FROM `contacts` p " +
		"WHERE p.`tenant` = :tenant AND (p.`created`, p.`id`) " + compare + " (:cursorValue, :cursorID) " +
		"ORDER BY p.`created`" + direction + ", p.`id`" + direction + " LIMIT 1)), " + none + ")"
}
