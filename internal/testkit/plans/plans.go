// Package plans is the ledger of the plans by which SQLite runs the program's statements.
package plans

import (
	"database/sql/driver"
	_ "embed" // for the ledger
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Entry is a statement with its plan.
type Entry struct {
	Statement string   `json:"statement"` // normalized
	Plan      []string `json:"plan"`      // the steps of EXPLAIN QUERY PLAN
	Example   string   `json:"example"`   // a statement before it was normalized
}

//go:embed statements.txt
var ledger string

//go:embed walks.txt
var reasons string

// growing are the tables whose rows grow with contacts, events, deliveries, attempts or requests.
var growing = []string{
	"contacts", "_contactSearch", "_contactUnindexed", "_contactGrams",
	"_idempotency", "events", "deliveries", "delivery_attempts", "inbound_requests",
	"_inboundPeople", "_inboundCrowds", "_mergedContacts", "_importRows", "_importRefusals",
	"_importNotes", "_importContacts", "_importCreated", "audit_log", "_keptCalls",
}

// normal are the parts of statements that the program generates. What differs in them does not matter to the plan.
var normal = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(`\s+`), " "},
	{regexp.MustCompile("concat_ws\\([^)]*\\)(, c\\.`\\w+`)* FROM"), "… FROM"}, // the columns of contacts
	{regexp.MustCompile(`\{?:(p|TEST|__\w+?)[0-9]+\}?`), "?"},
	{regexp.MustCompile(`:(word|glob|gram|term|indexed|t|w|g)[0-9]+`), ":${1}N"},
	{regexp.MustCompile(`\?[1-9][0-9]*`), "?"},
	{regexp.MustCompile(`\((\?|NULL)(, ?(\?|NULL))+\)`), "(?, …)"},
	{regexp.MustCompile(`(\(\?, …\), ?)+\(\?, …\)`), "(?, …)"},
	{regexp.MustCompile(`\b__[a-zA-Z]+_?[a-zA-Z0-9]{8,}`), "__name"},
}

// Normalize returns a statement as the ledger has it.
func Normalize(text string) string {
	for _, n := range normal {
		text = n.from.ReplaceAllString(text, n.to)
	}
	return strings.TrimSpace(text)
}

// All returns the ledger: the plans of statements.
func All() map[string][]string {
	entries := map[string][]string{}
	for _, block := range strings.Split(strings.TrimSpace(ledger), "\n\n") {
		lines := strings.Split(block, "\n\t")
		entries[lines[0]] = lines[1:]
	}
	return entries
}

// Reason is why statements may walk a table.
type Reason struct {
	Start  string // how the statements begin, normalized
	Bound  string // of the rows that they read
	Test   string // that shows it
	Values string // parameters with which TestWalksStopEarly runs the statements, a JSON array
}

// Reasons returns the reasons in walks.txt.
func Reasons() (all []Reason) {
	for _, block := range strings.Split(strings.TrimSpace(reasons), "\n\n") {
		start, why, _ := strings.Cut(block, "\n\t")
		bound, rest, _ := strings.Cut(why, "; Test")
		test, values, _ := strings.Cut(rest, "; ")
		all = append(all, Reason{start, bound, "Test" + test, values})
	}
	return all
}

// ReasonFor returns the reason why a statement may walk a table, if there is one.
func ReasonFor(text string) (Reason, bool) {
	for _, reason := range Reasons() {
		if strings.HasPrefix(Normalize(text), reason.Start) {
			return reason, true
		}
	}
	return Reason{}, false
}

var (
	parameter = regexp.MustCompile(`\?[0-9]*|:[a-zA-Z_]\w*`)
	literal   = regexp.MustCompile(`'[^']*'`)
	step      = regexp.MustCompile(`^(SCAN|SEARCH) (\S+)(?:.*\((.*)\))?`)
)

// NoValues returns NULL for each parameter of a statement: a plan does not depend on values.
func NoValues(text string) (values []driver.NamedValue) {
	named, last := map[string]bool{}, 0
	for _, name := range parameter.FindAllString(literal.ReplaceAllString(text, "''"), -1) {
		switch number, err := strconv.Atoi(name[1:]); {
		case name == "?":
			last++
		case err == nil:
			last = max(last, number)
		case !named[name]:
			named[name] = true
			last++
			values = append(values, driver.NamedValue{Ordinal: last, Name: name[1:]})
		}
	}
	if len(named) > 0 {
		return values
	}
	for ordinal := range last {
		values = append(values, driver.NamedValue{Ordinal: ordinal + 1})
	}
	return values
}

// Walks returns the steps of a plan that read many rows of a growing table: all of them, all of a tenant, or all from a
// time or number on. Whether it stops early is not visible.
func Walks(text string, steps []string) (walks []string) {
	aliases := aliasesIn(text)
	for _, line := range steps {
		found := step.FindStringSubmatch(line)
		if found == nil || !slices.Contains(growing, aliases[found[2]]) && !slices.Contains(growing, found[2]) {
			continue
		}
		if found[1] == "SCAN" || isBroad(found[3]) {
			walks = append(walks, line)
		}
	}
	return walks
}

// isBroad reports whether the constraints of an index leave many rows.
func isBroad(constraints string) bool {
	for _, c := range strings.Split(constraints, " AND ") {
		column, equal := strings.CutSuffix(c, "=?")
		if equal && column != "tenant" && column != "indexed" && column != "status" && column != "slow" && column != "kind" {
			return false
		}
	}
	return true
}

var aliased = regexp.MustCompile(
	"(?i)(?:FROM|JOIN|,|UPDATE|INTO) *[`\"\\[{]*(\\w+)[`\"\\]}]*(?: +AS)? +[`\"\\[]*(\\w+)",
)

// aliasesIn returns the tables of a statement by their aliases.
func aliasesIn(text string) map[string]string {
	tables := map[string]string{}
	for _, found := range aliased.FindAllStringSubmatch(text, -1) {
		tables[found[2]] = found[1]
	}
	return tables
}
