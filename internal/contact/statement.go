package contact

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// values are the parameters of a statement by name, which need not use all of them.
type values map[string]any

func (v values) named() []any {
	args := make([]any, 0, len(v))
	for name, value := range v {
		args = append(args, sql.Named(name, value))
	}
	return args
}

// listStatement builds the query of a page. It reads one row more than the page has. (SQLite compiles a statement whose
// limit is a bare parameter again whenever that is bound, to plan for its value; an addition keeps it from doing so.)
func (s *schema) listStatement(app core.App, tenantID string, q Query) (string, values, error) {
	params := values{"tenant": tenantID, "limit": q.Limit + 1, "offset": q.Offset}
	order := orders[q.Sort]
	direction, beyond := "", ">"
	if order.descending {
		direction, beyond = " DESC", "<"
	}
	byTime := order.column == orders[defaultSort].column
	sorted := " ORDER BY " + order.column + direction + ", c.`id`" + direction

	if len(q.Words) > 0 && byTime && q.onlySearches() {
		if grams := gramsOf(q.Words); len(grams) > 0 {
			large, err := sizes.large(app, tenantID)
			if err != nil {
				return "", nil, err
			}
			if large {
				if params["match"], err = telling.match(app, grams); err != nil {
					return "", nil, err
				}
				return s.gramsStatement(q, params, direction, beyond) + sorted, params, nil
			}
		}
	}

	from, conditions := "`contacts` c", []string{"c.`tenant` = :tenant"}
	orderBy := sorted
	if len(q.Words) > 0 || q.comparesFolded() {
		// the search rows lead, so that the contacts are only read where they match
		from = "`_contactSearch` s CROSS JOIN `contacts` c ON c.`id` = s.`contact`"
		conditions = append(conditions, "s.`tenant` = :tenant")
		if byTime {
			orderBy = " ORDER BY s.`seq`" + direction // the same order, which the index has already
		}
	}
	conditions = append(conditions, filters(q, params)...)
	if q.Cursor != nil {
		params["cursorValue"], params["cursorID"] = q.Cursor.Value, q.Cursor.ID
		conditions = append(conditions, "("+order.column+", c.`id`) "+beyond+" (:cursorValue, :cursorID)")
		if byTime && from != "`contacts` c" {
			conditions = append(conditions, "s.`seq` "+beyond+" "+cursorSeq(beyond))
		}
	}
	where := " WHERE " + strings.Join(conditions, " AND ") + orderBy
	if q.Offset == 0 {
		return "SELECT " + s.columns + " FROM " + from + where + " LIMIT :limit + 0", params, nil
	}
	// what is skipped is counted in the index alone; only the page's own rows are read whole
	return s.rowsOf("SELECT c.`id` AS `pageId` FROM "+from+where+" LIMIT :limit + 0 OFFSET :offset") + sorted, params, nil
}

// rowsOf reads the contacts whose ids the inner query returns as pageId.
func (s *schema) rowsOf(inner string) string {
	return "SELECT " + s.columns + " FROM (" + inner + ") CROSS JOIN `contacts` c ON c.`id` = `pageId`"
}

// onlySearches tells whether nothing but words, and a place in the list, narrows the query.
func (q *Query) onlySearches() bool {
	return len(q.Equal) == 0 && q.UpdatedSince == nil
}

// comparesFolded tells whether the query compares a column of the search rows.
func (q *Query) comparesFolded() bool {
	return slices.ContainsFunc(Fields, func(f *Field) bool { _, asked := q.Equal[f.Name]; return asked && f.folded })
}

func filters(q Query, params values) []string {
	var conditions []string
	if len(q.Words) > 0 {
		conditions = append(conditions, searchCondition(q.Words, params))
	}
	for _, field := range Fields {
		value, asked := q.Equal[field.Name]
		if !asked {
			continue
		}
		column := "c.`" + field.Name + "`"
		if field.folded {
			column, value = "s.`"+field.Name+"`", foldEmail(value)
		}
		params[field.Name] = value
		conditions = append(conditions, column+" = :"+field.Name, column+" != ''") // the index has only those with a value
	}
	if q.UpdatedSince != nil {
		params["updatedSince"] = q.UpdatedSince.String()
		conditions = append(conditions, "c.`updated` >= :updatedSince")
	}
	return conditions
}

// cursorSeq returns the number of the search row at the cursor, or of the nearest one that the page has passed where
// that contact is gone since.
func cursorSeq(beyond string) string {
	compare, direction, none := "<=", " DESC", "0"
	if beyond == "<" {
		compare, direction, none = ">=", "", "9223372036854775807"
	}
	return "ifnull((SELECT `seq` FROM `_contactSearch` WHERE `contact` = (SELECT p.`id` FROM `contacts` p " +
		"WHERE p.`tenant` = :tenant AND (p.`created`, p.`id`) " + compare + " (:cursorValue, :cursorID) " +
		"ORDER BY p.`created`" + direction + ", p.`id`" + direction + " LIMIT 1)), " + none + ")"
}

// gramsStatement finds the indexed rows by their trigrams and the few others by reading them. Each side stops at what
// the page can need, so that a common word costs no more than a rare one.
func (s *schema) gramsStatement(q Query, params values, direction, beyond string) string {
	condition := "s.`tenant` = :tenant AND " + searchCondition(q.Words, params)
	if q.Cursor != nil {
		params["cursorValue"], params["cursorID"] = q.Cursor.Value, q.Cursor.ID
		condition += " AND s.`seq` " + beyond + " " + cursorSeq(beyond)
	}
	params["reach"] = q.Limit + 1 + q.Offset
	return s.rowsOf("SELECT `contact` AS `pageId` FROM (" +
		"SELECT * FROM (SELECT s.`seq`, s.`contact` FROM `_contactGrams` CROSS JOIN `_contactSearch` s ON s.`seq` = `_contactGrams`.`rowid` " +
		"WHERE `_contactGrams` MATCH :match AND s.`indexed` = 1 AND " + condition + " ORDER BY `_contactGrams`.`rowid`" + direction + " LIMIT :reach + 0) " +
		"UNION ALL " +
		"SELECT * FROM (SELECT s.`seq`, s.`contact` FROM `_contactSearch` s " +
		"WHERE s.`indexed` != 1 AND " + condition + " ORDER BY s.`seq`" + direction + " LIMIT :reach + 0)" +
		") ORDER BY `seq`" + direction + " LIMIT :limit + 0 OFFSET :offset")
}

const (
	// largeTenant is from how many contacts on a tenant is searched through the index: it spans all tenants, so that
	// reading the rows of a smaller one is faster.
	largeTenant = 20_000

	sizeAge = time.Minute
)

// sizes remembers for a while which tenants are large. Both ways of searching find the same.
var sizes = tenantSizes{}

type tenantSizes struct{ known sync.Map }

type tenantSize struct {
	large bool
	read  time.Time
}

func (t *tenantSizes) large(app core.App, tenantID string) (bool, error) {
	if known, ok := t.known.Load(tenantID); ok && time.Since(known.(tenantSize).read) < sizeAge {
		return known.(tenantSize).large, nil
	}
	var large bool
	err := app.ConcurrentDB().NewQuery("SELECT EXISTS (SELECT 1 FROM {{_contactSearch}} WHERE [[tenant]] = {:tenant} LIMIT 1 OFFSET {:size})").
		Bind(dbx.Params{"tenant": tenantID, "size": largeTenant}).Row(&large)
	if err != nil {
		return false, fmt.Errorf("sizing up the tenant %s: %w", tenantID, err)
	}
	t.known.Store(tenantID, tenantSize{large, time.Now()})
	return large, nil
}
