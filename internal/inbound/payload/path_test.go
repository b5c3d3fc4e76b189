package payload

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func TestParsePath(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"email", "a.b.0.c", `form_response.answers.#(type=="email").email`, "First Name", `a\.b`, `\@type`, "@this", "Name (first)",
		`fields.#(label%"*mail*")#|0.value`, "raw.@fromstr.email", "raw|@fromstr|@values|0", "[a,b]|@flatten", "[@this].#(billing)#",
		`#(email=="a@example.com").name`, "a.@keys.0", `#(tags.#>3)#.name`, "#( a == 1 )", `#(a.#(b.#(c==1)))`, "#(=x)", "#(>5)#", `\#a`, "q*_email",
	} {
		if _, reason := parsePath(text); reason != "" {
			t.Errorf("%s is refused: %s", text, reason)
		}
	}
	for text, reason := range map[string]string{
		"": "empty", strings.Repeat("x", maxPath+1): "500", "a\x00b": "characters", "a\nb": "characters", "\xff": "characters",
		"@type": `\@type`, "a.@upper": "@upper", "a|@": "modifier", "#( @evil)": "@evil", "@dig:a": "@dig", "@tostr": "@tostr",
		`@flatten:{"deep":true}`: "@flatten takes no arguments", "@pretty": "@pretty", "{a,b}": "{", `!"x"`: "!", "a.!b": "!",
		"a..b": "empty part", "..0": "empty part", ".a": "empty part", "a.": "empty part", "a|": "empty part", "[a,]": "empty part", "[]": "empty part",
		"[a": "no ]", "[[a": "no ]", "[a]b": "after the end", "#(a": "no )", `#(a="x`: "quoted text",
		`#(a="\q")`: "quoted text", "#()": "empty", "#(a)b": "after the end",
		"#(a(b)": "in brackets", `[a"b"]`: "in brackets", "#(a!)": "no )", `#(a="x"y)`: "no )",
	} {
		if _, got := parsePath(text); !strings.Contains(got, reason) || got == "" {
			t.Errorf("%q: got %q, want %q in it", text, got, reason)
		}
	}
}

// randomPaths generates paths and matching payloads.
type randomPaths struct{ *rand.Rand }

func (r randomPaths) pick(of ...string) string { return of[r.IntN(len(of))] }

func (r randomPaths) value(depth int) any {
	switch r.IntN(8 - min(depth, 3)) {
	case 0:
		return json.Number(r.pick("0", "1", "2.50", "-3", "1e3"))
	case 1:
		return r.pick("", "a", "ab", "xay", "true", `q"*`, "ä", "1")
	case 2:
		return r.pick("x", "true", "false") == "true"
	case 3:
		return nil
	case 4, 5:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = r.value(depth + 1)
		}
		return list
	}
	obj := map[string]any{}
	for range r.IntN(4) {
		obj[r.pick("a", "b", "ab", "aab", "a b", "1", "x.y", "ä")] = r.value(depth + 1)
	}
	return obj
}

func (r randomPaths) name() string {
	return r.pick("a", "b", "ab", "a*", "*b", "?b", "*a*", "a b", "0", "1", `x\.y`, "ä")
}

func (r randomPaths) query(depth int) string {
	path := r.name()
	if depth < 2 && r.IntN(4) == 0 {
		path = r.name() + "." + r.query(depth+1)
	}
	return "#(" + path + r.pick("", "==", "=", "!=", "<", "<=", ">", ">=", "%", "!%") + r.pick(`"a"`, "1", "2.5", "true", "false", `"*a*"`, "~true", "~false", "~null", "~*", `"?"`) + ")"
}

func (r randomPaths) path(depth int) string {
	var b strings.Builder
	separators := []string{".", ".", "|"}
	if depth > 0 { // GJSON reads a pipe in brackets as one after them
		separators = []string{"."}
	}
	for i := range 1 + r.IntN(3) {
		if i > 0 {
			b.WriteString(r.pick(separators...))
		}
		switch r.IntN(8) {
		case 0:
			b.WriteString("#")
		case 1, 2:
			query := r.query(0) + r.pick("", "#")
			if strings.HasSuffix(query, "#") { // GJSON ignores the pipe after an empty list
				separators = []string{"."}
			}
			b.WriteString(query)
		case 3:
			b.WriteString(r.pick("@this", "@flatten"))
		case 4:
			if depth < 1 {
				b.WriteString("[" + r.path(depth+1) + "," + r.path(depth+1) + "]")
				continue
			}
			fallthrough
		default:
			b.WriteString(r.name())
		}
	}
	return b.String()
}

// Paths find what GJSON finds, with three exceptions. GJSON returns an empty list for parts of a missing value,
// ignores a pipe after an empty list, and follows the first matching name before a modifier, even if only
// another leads on.
func TestPathsAreGJSON(t *testing.T) {
	t.Parallel()
	r := randomPaths{rand.New(rand.NewPCG(1, 2))}
	found := 0
	for range 100_000 {
		text, doc := r.path(0), r.value(0)
		p, reason := parsePath(text)
		if reason != "" || strings.Contains(text, ".[") || strings.Contains(text, ".@") && strings.ContainsAny(text, "*?") {
			continue
		}
		encoded, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := newWork().get(doc, p)
		want := gjson.GetBytes(encoded, text)
		if !ok && (!want.Exists() || strings.ContainsAny(text, "@[")) {
			continue
		}
		if !ok || !reflect.DeepEqual(got, decoded(t, want.Raw)) {
			t.Fatalf("%s in %s finds %v %v, GJSON %s", text, encoded, got, ok, want.Raw)
		}
		found++
	}
	if found < 10_000 {
		t.Errorf("only %d paths find something", found)
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestModifiers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ path, doc string }{
		{"@keys", `{"b":1,"a":2}`}, {"@values", `{"b":1,"a":{}}`}, {"@values", `[1,2]`}, {"@reverse", `[1,"2",[3]]`}, {"@reverse", `"x"`},
		{"@flatten", `[1,[2],[[3]],[],{"a":[4]}]`}, {"@flatten", `{"a":[1]}`}, {"@this", `null`}, {"@fromstr", `"{\"a\":[1]}"`}, {"@fromstr", `{"a":1}`},
		{"a|@fromstr.b", `{"a":"{\"b\":7}"}`}, {"@fromstr", `"` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `"`},
	} {
		p, reason := parsePath(tt.path)
		if reason != "" {
			t.Fatal(reason)
		}
		sorted, err := json.Marshal(decoded(t, tt.doc)) // names in order, as paths see them
		if err != nil {
			t.Fatal(err)
		}
		got, ok := newWork().get(decoded(t, tt.doc), p)
		want := gjson.GetBytes(sorted, tt.path)
		tooDeep := strings.Contains(tt.doc, "[[[[")
		if ok != (want.Exists() && !tooDeep) || ok && !reflect.DeepEqual(got, decoded(t, want.Raw)) {
			t.Errorf("%s of %s is %v %v, of GJSON %s", tt.path, tt.doc, got, ok, want.Raw)
		}
	}
}
