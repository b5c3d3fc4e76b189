package list

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/stamp"
)

// order is the meaning of a Sort.
type order struct {
	column     string // of a contact c, in SQL
	descending bool
	value      func(*contact.Contact) string // the stored value of the column
}

// order returns the query's order. Names are those of the search rows, once all of them are folded.
func (q *Query) order() order {
	o := orders[q.Sort]
	if q.byFoldedName() {
		o.column, o.value = foldedName, func(c *contact.Contact) string { return search.NameKey(c.Name) }
	}
	return o
}

const foldedName = "s.`name`"

func (q *Query) byFoldedName() bool { return q.isFolded && q.sortsNames() }

func (q *Query) sortsNames() bool { return q.Sort == "name" || q.Sort == "-name" }

// orders are the orders that callers may ask for. sorts has their names.
var orders, sorts = func() (orders map[Sort]order, names []string) {
	orders = map[Sort]order{}
	add := func(name, column string, value func(*contact.Contact) string) {
		names = append(names, name, "-"+name)
		orders[Sort(name)] = order{column, false, value}
		orders[Sort("-"+name)] = order{column, true, value}
	}
	add("createdAt", "c.`created`", func(c *contact.Contact) string { return stamp.Store(c.Created) })
	add("updatedAt", "c.`updated`", func(c *contact.Contact) string { return stamp.Store(c.Updated) })
	for _, field := range contact.Fields {
		if field.Sortable {
			add(field.Name, "c.`"+field.Name+"` COLLATE NOCASE", field.Value)
		}
	}
	return orders, names
}()

// statement reads a page, and one row more. SQLite recompiles a statement whose limit is just a parameter each time a
// value is bound, to plan for that value. The addition in "LIMIT :limit + 0" prevents this.
type statement struct {
	Query
	columns string // of a contact c

	direction string         // of the order, in SQL
	beyond    string         // the operator that compares with the cursor
	id        string         // of a contact, by which the order breaks ties
	sorted    string         // the whole order
	params    map[string]any // see sqlite.Named
}

func newStatement(tenantID string, q Query, columns string) *statement {
	order := q.order()
	s := &statement{
		Query: q, columns: columns, beyond: ">",
		params: map[string]any{"tenant": tenantID, "limit": q.Limit + 1, "offset": q.Offset},
	}
	if order.descending {
		s.direction, s.beyond = " DESC", "<"
	}
	s.id = "c.`id`"
	if q.byFoldedName() {
		s.id = "s.`contact`" // as in the index
	}
	s.sorted = " ORDER BY " + order.column + s.direction + ", " + s.id + s.direction
	if q.Cursor != nil {
		s.params["cursorValue"], s.params["cursorID"] = q.Cursor.Value, q.Cursor.ID
	}
	for name, at := range q.Times {
		s.params[name] = at
	}
	return s
}

// reading returns a statement that reads the contacts: by their trigrams, or if match is nil, through the contacts or
// their search rows.
func (s *statement) reading(match *search.Match) string {
	if match != nil {
		return s.contactsOf("SELECT `contact` AS `pageId` FROM (" + s.sides(match) +
			") ORDER BY `seq`" + s.direction + " LIMIT :limit + 0 OFFSET :offset")
	}
	source, orderBy := s.rows()
	where := source + orderBy
	if s.Offset == 0 {
		return "SELECT " + s.columns + where + " LIMIT :limit + 0"
	}
	// Skipped rows are only counted in the index. Only those of the page are read.
	skipping := where + " LIMIT :limit + 0 OFFSET :offset"
	if s.byFoldedName() {
		s.sorted = " ORDER BY `pageName`" + s.direction + ", `pageId`" + s.direction
		return s.contactsOf("SELECT s.`contact` AS `pageId`, s.`name` AS `pageName`" + skipping)
	}
	return s.contactsOf("SELECT c.`id` AS `pageId`" + skipping)
}

// rows returns the FROM and WHERE of the statement that reads contacts or their search rows, and its order.
func (s *statement) rows() (source, orderBy string) {
	from, conditions := "`contacts` c", []string{"c.`tenant` = :tenant"}
	orderBy = s.sorted
	index := s.index()
	// with a time, the few contacts that it leaves are sorted, instead of reading all in the order of their names
	sorts := s.byFoldedName() && len(s.Words) == 0 && s.hasTimes()
	leads := s.comparesFolded() || (len(s.Words) > 0 || s.byFoldedName() && !sorts) && index == ""
	switch {
	case index != "":
		from += " INDEXED BY `" + index + "`" // SQLite would read the whole tenant in the order of the list
		if len(s.Words) > 0 || s.byFoldedName() {
			from += " CROSS JOIN `_contactSearch` s ON s.`contact` = c.`id`"
		}
	case leads:
		// The search rows come first, so that only the contacts that match are read.
		from = "`_contactSearch` s" + s.searchIndex() + " CROSS JOIN `contacts` c ON c.`id` = s.`contact`"
		conditions = append(conditions, "s.`tenant` = :tenant")
		if s.byTime() {
			orderBy = " ORDER BY s.`seq`" + s.direction // the same order, which an index has
		}
	case sorts:
		from += " CROSS JOIN `_contactSearch` s ON s.`contact` = c.`id`"
	}
	conditions = append(conditions, s.filters()...)
	if s.Cursor != nil {
		column := s.order().column
		conditions = append(conditions, "("+column+", "+s.id+") "+s.beyond+" (:cursorValue, :cursorID)")
		if strings.Contains(column, "COLLATE") { // SQLite would not start at the cursor, but read all pages up to it
			conditions = append(conditions, column+" "+s.beyond+"= :cursorValue")
		}
	}
	if leads {
		conditions = append(conditions, s.within("s.`seq`")...)
	}
	return " FROM " + from + " WHERE " + strings.Join(conditions, " AND "), orderBy
}

// searchIndex says by which index the search rows are read, "" if SQLite finds it.
func (s *statement) searchIndex() string {
	switch {
	case !s.byFoldedName() || s.hasTimes() && !s.comparesFolded():
		return ""
	case s.comparesFolded():
		return " INDEXED BY `idx__contactSearch_email`" // SQLite would read the whole tenant in the order of the list
	default:
		return " INDEXED BY `idx__contactSearch_name`"
	}
}

// sides returns search rows: the indexed ones by their trigrams, and the few others by reading them. Each side stops
// after as many rows as the page can need, so that a common word takes no longer than a rare one.
func (s *statement) sides(match *search.Match) string {
	condition := "s.`tenant` = :tenant AND " + search.Condition(s.Words, s.isFolded, s.params)
	maps.Copy(s.params, match.Params)
	s.params["reach"] = s.Limit + 1 + s.Offset
	side := func(from, number, which string) string {
		return "SELECT * FROM (SELECT s.`seq`, s.`contact` FROM " + from + " WHERE " +
			strings.Join(append(s.within(number), which, condition), " AND ") +
			" ORDER BY " + number + s.direction + " LIMIT :reach + 0)"
	}
	const (
		rows    = "`_contactSearch` s"
		through = " INDEXED BY `idx__contactSearch_"
		indexed = "s.`seq` <= " + search.IndexedUpTo
		changed = "s." + search.Changed
	)
	return side("`_contactGrams` CROSS JOIN "+rows+" ON s.`seq` = `_contactGrams`.`rowid`",
		"`_contactGrams`.`rowid`", match.SQL+" AND "+indexed+" AND NOT "+changed) +
		" UNION ALL " + side(rows+through+"changed`", "s.`seq`", changed+" AND "+indexed) +
		" UNION ALL " + side(rows+through+"tenant`", "s.`seq`", "s.`seq` > "+search.IndexedUpTo)
}

// counting returns a statement that counts the contacts, up to the limit and one more, instead of reading them. match
// is nil to count rows.
func (s *statement) counting(match *search.Match) string {
	if match != nil {
		return "SELECT count(*) FROM (SELECT 1 FROM (" + s.sides(match) + ") LIMIT :limit + 0)"
	}
	source, _ := s.rows()
	return "SELECT count(*) FROM (SELECT 1" + source + " LIMIT :limit + 0)"
}

// contactsOf reads the contacts whose ids the inner query returns as pageId.
func (s *statement) contactsOf(inner string) string {
	return "SELECT " + s.columns + " FROM (" + inner + ") CROSS JOIN `contacts` c ON c.`id` = `pageId`" + s.sorted
}

// byTime reports whether the order is that of the search rows.
func (q *Query) byTime() bool { return orders[q.Sort].column == orders[defaultSort].column }

// onlySearches reports whether the query selects contacts only by what search rows have: words, and the
// order of creation.
func (q *Query) onlySearches() bool {
	return len(q.Words) > 0 && len(q.Equal) == 0 && len(q.Indexed) == 0 && q.Import == "" &&
		q.Times["updatedSince"] == "" && q.Times["updatedBefore"] == ""
}

func (q *Query) hasTimes() bool {
	return slices.ContainsFunc(timeFilters, func(f timeFilter) bool { return q.Times[f.name] != "" })
}

// comparesFolded reports whether the query compares a column of the search rows.
func (q *Query) comparesFolded() bool {
	return slices.ContainsFunc(contact.Fields, func(f *contact.Field) bool {
		_, asked := q.Equal[f.Name]
		return asked && f.Folded
	})
}

// index returns the index that finds the contacts with a value, "" if the query asks for none, or for one
// in the search rows.
func (q *Query) index() string {
	if q.comparesFolded() {
		return ""
	}
	for _, field := range slices.Backward(contact.Fields) { // an external id, which comes last, has one contact
		if _, asked := q.Equal[field.Name]; asked {
			return "idx_contacts_" + field.Name
		}
	}
	if len(q.Indexed) > 0 {
		return q.Indexed[0].Index
	}
	return ""
}

func (s *statement) filters() []string {
	var conditions []string
	if len(s.Words) > 0 {
		conditions = append(conditions, search.Condition(s.Words, s.isFolded, s.params))
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
	if s.Import != "" {
		s.params["import"] = s.Import
		conditions = append(conditions,
			"EXISTS (SELECT 1 FROM `_importCreated` m WHERE m.`import` = :import AND m.`contact` = c.`id`)")
	}
	for i, filter := range s.Indexed {
		name := "indexed" + strconv.Itoa(i)
		s.params[name] = filter.Value
		conditions = append(conditions, "c.`"+filter.Field+"` = :"+name)
	}
	for _, filter := range timeFilters {
		if s.Times[filter.name] == "" {
			continue
		}
		column := "c.`" + filter.column + "`"
		conditions = append(conditions, s.unlessCursor(column, filter.operator)+column+" "+filter.operator+" :"+filter.name)
	}
	return conditions
}

// unlessCursor returns a plus sign for the left side of a comparison with a column of a contact c, if it bounds the
// same end of the list as the cursor. SQLite would start there, and read all pages up to the cursor.
func (s *statement) unlessCursor(column, operator string) string {
	if s.Cursor != nil && column == s.order().column && strings.HasPrefix(operator, s.beyond) {
		return "+"
	}
	return ""
}

// within returns the conditions on the number of a search row that its contact is after the cursor, and was created
// within the requested times. If the contact at the cursor was deleted, its nearest predecessor counts.
func (s *statement) within(number string) (conditions []string) {
	if s.Cursor != nil && s.byTime() {
		passed := map[string]string{">": "<=", "<": ">="}[s.beyond]
		conditions = append(conditions, number+beyond(s.beyond, "(p.`created`, p.`id`) "+passed+" (:cursorValue, :cursorID)"))
	}
	if s.Times["createdSince"] != "" {
		conditions = append(conditions, s.unlessCursor("c.`created`", ">")+number+beyond(">", "p.`created` < :createdSince"))
	}
	if s.Times["createdBefore"] != "" {
		conditions = append(conditions, s.unlessCursor("c.`created`", "<")+number+
			beyond("<", "p.`created` >= :createdBefore"))
	}
	return conditions
}

// beyond returns the end of a comparison with the number of a search row. With ">", the row must come after the
// newest of the tenant's contacts p that match the condition passed; with "<", before the oldest of them.
func beyond(operator, passed string) string {
	direction, none := " DESC", "0"
	if operator == "<" {
		direction, none = "", "9223372036854775807"
	}
	return " " + operator + " ifnull((SELECT `seq` FROM `_contactSearch` " +
		"WHERE `contact` = (SELECT p.`id` FROM `contacts` p WHERE p.`tenant` = :tenant AND " + passed +
		" ORDER BY p.`created`" + direction + ", p.`id`" + direction + " LIMIT 1)), " + none + ")"
}
