package field_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var dated = regexp.MustCompile(`^\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d+)?Z?)?)?$`)

// matches reports whether a decoded JSON value is as expected.
func matches(want, got any) bool {
	switch want := want.(type) {
	case nil:
		return got == nil || got == ""
	case string:
		text, ok := got.(string)
		return ok && (text == want || dated.MatchString(want) && dated.MatchString(text) &&
			strings.HasPrefix(strings.Replace(text, "T", " ", 1), strings.Replace(want, "T", " ", 1)))
	case []any:
		list, ok := got.([]any)
		return ok && slices.EqualFunc(want, list, matches)
	case map[string]any:
		if values, ok := want["oneOf"].([]any); ok && len(want) == 1 {
			return slices.ContainsFunc(values, func(want any) bool { return matches(want, got) })
		}
		object, ok := got.(map[string]any)
		for name, want := range want {
			ok = ok && matches(want, object[name])
		}
		return ok
	}
	return want == got
}

// unmatched returns what is wanted and not among the others, and the others that nobody wants.
func unmatched(want, got []any) (missing, left []any) {
	owner := make([]int, len(got)) // of an element of got: 1 + the index of what is wanted
	var assign func(i int, tried []bool) bool
	assign = func(i int, tried []bool) bool {
		for j := range got {
			if tried[j] || !matches(want[i], got[j]) {
				continue
			}
			tried[j] = true
			if owner[j] == 0 || assign(owner[j]-1, tried) {
				owner[j] = i + 1
				return true
			}
		}
		return false
	}
	for i := range want {
		if !assign(i, make([]bool, len(got))) {
			missing = append(missing, want[i])
		}
	}
	for j, i := range owner {
		if i == 0 {
			left = append(left, got[j])
		}
	}
	return missing, left
}

// result is what an answer is compared with.
type result struct {
	contacts         []any    // afterwards
	before           []any    // contacts
	counts           any      // of an import
	warnings, others []string // others are remarks and reasons, which texts are looked for in, too
	failed           *response
	body             string // of an export
}

// faults are the differences from an answer.
func (a *answer) faults(r *result) (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	switch {
	case a.Error == nil && r.failed != nil:
		add("the answer is %d %s", r.failed.status, r.failed.body)
	case a.Error != nil && r.failed == nil:
		add("is not refused")
	case a.Error != nil:
		faults = append(faults, a.Error.faults(r.failed)...)
		if missing, left := unmatched(r.before, r.contacts); len(missing)+len(left) > 0 {
			add("contacts change although the answer is an error: %s", compact(r.contacts))
		}
	}
	if a.Contacts != nil {
		if missing, left := unmatched(*a.Contacts, r.contacts); len(missing)+len(left) > 0 {
			add("contacts: missing %s, left over %s", compact(missing), compact(left))
		}
	}
	for name, want := range a.Counts {
		if counts, _ := r.counts.(map[string]any); counts[name] != float64(want) {
			add("%s: %v, not %d", name, counts[name], want)
		}
	}
	return append(append(faults, a.warningFaults(r)...), textFaults(r.body, a.Contains, a.Lacks)...)
}

func (a *answer) warningFaults(r *result) (faults []string) {
	if a.Warnings == nil {
		return nil
	}
	if len(*a.Warnings) == 0 && len(r.warnings) > 0 {
		return []string{fmt.Sprintf("warnings: %q", r.warnings)}
	}
	all := slices.Concat(r.warnings, r.others)
	for _, wants := range *a.Warnings {
		if !slices.ContainsFunc(all, func(text string) bool {
			return slices.ContainsFunc(wants, func(want string) bool {
				return strings.Contains(strings.ToLower(text), strings.ToLower(want))
			})
		}) {
			faults = append(faults, fmt.Sprintf("no warning has %q: %q", wants, all))
		}
	}
	return faults
}

func (f *refusal) faults(r *response) (faults []string) {
	if f.Status != 0 && f.Status != r.status || f.Code != "" && !strings.Contains(r.body, `"code":"`+f.Code+`"`) {
		faults = []string{fmt.Sprintf("the error is %d %s, not %d %s", r.status, r.body, f.Status, f.Code)}
	}
	return append(faults, textFaults(r.body, f.Contains, nil)...)
}

func textFaults(text string, contains, lacks []string) (faults []string) {
	for _, want := range contains {
		if !strings.Contains(text, want) {
			faults = append(faults, fmt.Sprintf("%q is not in %.2000s", want, text))
		}
	}
	for _, bad := range lacks {
		if strings.Contains(text, bad) {
			faults = append(faults, fmt.Sprintf("%q is in %.2000s", bad, text))
		}
	}
	return faults
}

func compact(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func decode(text string) (value any) {
	_ = json.Unmarshal([]byte(text), &value)
	return value
}

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want, got string
		matches   bool
	}{
		{`"a"`, `"a"`, true}, {`"a"`, `"A"`, false}, {`"a"`, `"ab"`, false}, {`1`, `1.0`, true}, {`1`, `"1"`, false}, {`true`, `true`, true},
		{`null`, `null`, true}, {`null`, `""`, true}, {`null`, `0`, false}, {`null`, `false`, false}, {`null`, `[]`, false}, {`""`, `null`, false},
		{`"1985-01-31"`, `"1985-01-31T00:00:00.000Z"`, true}, {`"1985-01-31 10:00"`, `"1985-01-31T10:00:00.000Z"`, true},
		{`"1985-01-31"`, `"1985-01-30T23:00:00.000Z"`, false}, {`"1985-01-31"`, `"1985-01-31 is a day"`, false},
		{`["a"]`, `["a"]`, true}, {`["a"]`, `["a","b"]`, false}, {`["a","b"]`, `["b","a"]`, false}, {`{"a":1}`, `{"a":1,"b":2}`, true},
		{`{"a":1}`, `{"b":2}`, false}, {`{"a":null}`, `{"b":2}`, true}, {`{"a":1}`, `[1]`, false}, {`{"oneOf":["a",null]}`, `null`, true},
		{`{"oneOf":["a",null]}`, `"b"`, false}, {`{"a":{"oneOf":[1,2]}}`, `{"a":2}`, true},
	} {
		if got := matches(decode(c.want), decode(c.got)); got != c.matches {
			t.Errorf("%s as %s: %v", c.want, c.got, got)
		}
	}
}

// Each expectation has a contact of its own, whatever the order in which they would fit.
func TestUnmatched(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ want, got, missing, left string }{
		{`[{},{"a":1}]`, `[{"a":1},{"a":2}]`, `null`, `null`},
		{`[{"a":1},{"a":1}]`, `[{"a":1},{"a":2}]`, `[{"a":1}]`, `[{"a":2}]`},
		{`[]`, `[{"a":1}]`, `null`, `[{"a":1}]`},
		{`[{"a":1}]`, `[]`, `[{"a":1}]`, `null`},
	} {
		missing, left := unmatched(decode(c.want).([]any), decode(c.got).([]any))
		if compact(missing) != c.missing || compact(left) != c.left {
			t.Errorf("%s of %s: missing %s, left %s", c.want, c.got, compact(missing), compact(left))
		}
	}
}
