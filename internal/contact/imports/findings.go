package imports

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strconv"
	"strings"

	"contactbase/internal/contact"
	"contactbase/internal/contact/search"
	"contactbase/internal/contact/sheet"
)

// maxFindingRows is how many rows a finding names.
const maxFindingRows = 10

// Finding is what a check has found in some rows.
type Finding struct {
	Kind  sheet.Kind `json:"kind"`
	Field string     `json:"field,omitempty"`
	Count int        `json:"count"` // of rows
	Rows  []int      `json:"rows"`  // the first ones, as a spreadsheet shows them

	refused int // rows
	last    int // the last row
}

// String returns the finding as a sentence.
func (f Finding) String() string {
	var rows []string
	for _, row := range f.Rows {
		rows = append(rows, strconv.Itoa(row))
	}
	if f.Count > len(rows) {
		rows = append(rows, "…")
	}
	noun := "rows"
	if f.Count == 1 {
		noun = "row"
	}
	about := ""
	if f.Field != "" {
		about = f.Field + ": "
	}
	return fmt.Sprintf("%s%d %s %s: %s", about, f.Count, noun, sentences[f.Kind], strings.Join(rows, ", "))
}

// sentences continue a number of rows.
var sentences = map[sheet.Kind]string{
	sheet.InvalidEmail: "with an invalid email address",
	sheet.InvalidPhone: "with an invalid phone number",
	sheet.InvalidValue: "with a value that does not fit",
	sheet.LeftOut:      "with a value that is left out",
	sheet.NoIdentity:   "with neither a name nor an email address",
	sheet.SharedEmail:  "with the email address of an earlier row or of another contact",
	sheet.RepeatedID:   "with the ID of an earlier row or of another contact",
	sheet.TooLong:      "with a value that is too long",
	sheet.BadCells:     "that cannot be divided into the columns",
}

// problem is what a row has to do with a finding.
type problem struct {
	row     int
	kind    sheet.Kind
	field   string
	refused bool
}

type findingKey struct {
	kind  sheet.Kind
	field string
}

// findings gathers what a check finds. For each row it remembers at most two hashes, so that a sheet of maxRows rows
// takes some 64 MiB.
type findings struct {
	all    map[findingKey]*Finding
	seed   maphash.Seed
	emails map[uint64]identity // by the address, of the first row that has it
	ids    map[uint64]struct{}
}

func newFindings() *findings {
	return &findings{map[findingKey]*Finding{}, maphash.MakeSeed(), map[uint64]identity{}, map[uint64]struct{}{}}
}

// add counts a row once for each kind and field.
func (f *findings) add(p problem) {
	key := findingKey{p.kind, p.field}
	found := f.all[key]
	if found == nil {
		found = &Finding{Kind: p.kind, Field: p.field, last: -1}
		f.all[key] = found
	}
	if found.last == p.row {
		return
	}
	found.last = p.row
	found.Count++
	if p.refused {
		found.refused++
	}
	if len(found.Rows) < maxFindingRows {
		found.Rows = append(found.Rows, p.row)
	}
}

// identity has parts of hashes: of a row's contact, and of what finds it. The first one differs between rows of the
// same contact where the check has forgotten that, and the second one, 0 without an ID, where they name it differently.
type identity struct{ contact, key uint32 }

// compare adds what a row has in common with earlier ones, and reports whether it shares its address with one. ids are
// those that it has, by their fields. c is its contact, nil for a refused one.
func (f *findings) compare(row int, item *contact.Item, ids map[string]string, c *contact.Contact) (shares bool) {
	for field, id := range ids {
		key := maphash.Comparable(f.seed, [2]string{field, id})
		if _, repeated := f.ids[key]; repeated {
			f.add(problem{row, sheet.RepeatedID, field, c == nil})
		}
		f.ids[key] = struct{}{}
	}
	address, _ := item.Changes[contact.Email].(string)
	if c == nil || address == "" {
		return false
	}
	own := identity{contact: f.part(c.ID)}
	if at := slices.IndexFunc(item.Keys, func(key contact.Key) bool { return key.Value != "" }); at >= 0 {
		own.key = f.part(item.Keys[at].Value)
	}
	key := maphash.String(f.seed, search.FoldEmail(address))
	first, found := f.emails[key]
	if !found {
		f.emails[key] = own
	}
	if shares = found && first.contact != own.contact && first.key != own.key; shares {
		f.add(problem{row, sheet.SharedEmail, contact.Email, false})
	}
	return shares
}

func (f *findings) part(text string) uint32 {
	return uint32(maphash.String(f.seed, text)) //nolint:gosec // a part of a hash is one, too
}

// encoded returns the findings: those with refused rows first, then those of most rows.
func (f *findings) encoded() (string, error) {
	sorted := slices.SortedFunc(maps.Values(f.all), func(a, b *Finding) int {
		return cmp.Or(cmp.Compare(min(b.refused, 1), min(a.refused, 1)), cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Field, b.Field))
	})
	encoded, err := json.Marshal(notNil(sorted))
	return string(encoded), err
}
