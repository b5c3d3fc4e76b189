package payload

import (
	"fmt"
	"strings"
	"testing"

	"contactbase/internal/fault"
	"contactbase/internal/testkit/measure"
)

// worstCase is a mapping that does much work on a matching payload.
type worstCase struct{ name, mapping, body string }

// fieldsOf returns a mapping with the maximum number of paths.
func fieldsOf(path string) string {
	fields := make([]string, maxMappingFields)
	for i := range fields {
		fields[i] = fmt.Sprintf(`"f%d":[%q,%q]`, i, path, path)
	}
	return strings.Join(fields, ",")
}

// filled is a body with the longest text.
func filled(before, unit, after string) string {
	return before + strings.Repeat(unit, (maxValue-2)/len(unit)) + after
}

func repeated(before, unit string, times int, after string) string {
	times = min(times, (MaxBody-len(before)-len(after))/len(unit))
	return before + strings.TrimSuffix(strings.Repeat(unit, times), ",") + after
}

// worstCases are payloads of maximum size and content, and paths that traverse them in every way, each as often
// as a mapping may.
func worstCases() []worstCase {
	const most = MaxValues - 10
	var names strings.Builder
	for i := range most {
		fmt.Fprintf(&names, `"property_of_a_contact_with_a_long_name_%d":"",`, i)
	}
	bodies := map[string]string{
		"numbers":    repeated(`{"x":[`, "0,", most, "]}"),
		"objects":    repeated(`{"x":[`, "{},", most/2, "]}"),
		"lists":      repeated(`{"x":[`, "[],", most/2, "]}"),
		"pairs":      repeated(`{"x":[`, `{"a":0},`, most/2, "]}"),
		"texts":      repeated(`{"x":[`, `{"a":"aaaaaaaa"},`, most/2, "]}"),
		"names":      `{"x":{` + strings.TrimSuffix(names.String(), ",") + "}}",
		"one name":   `{"x":{"` + strings.Repeat("a", MaxBody-10) + `":0}}`,
		"one text":   filled(`{"x":[{"a":"`, "a", `"}]}`),
		"spaces":     filled(`{"x":[{"a":"`, " ", `"}]}`),
		"long texts": repeated(`{"x":[`, `{"a":"`+strings.Repeat("é", maxValue/2)+`"},`, 1000, "]}"),
		"packed":     filled(`{"x":"[0`, ",0", `]"}`),
		"packed all": filled(`{"x":"[`, " ", `]"}`),
		"deep":       repeated(`{"x":`+strings.Repeat("[", MaxDepth-2), "[],", most/2, strings.Repeat("]", MaxDepth-2)+"}"),
		"items":      repeated(`{"l":[`, `{"e":1},`, MaxItems, `],"x":[`+strings.TrimSuffix(strings.Repeat(`{"a":0},`, 40_000), ",")+"]}"),
	}
	paths := map[string][]string{
		"numbers":    {"x.#", "x.#.a", "x.#(>5)", "x.#(>5)#", "x.#.@this.@this.@this", "x.@reverse.@reverse|@flatten|@flatten", strings.Repeat("[x,x]|", 60) + "0"},
		"objects":    {`x.#(a=="b")#.c`, "x.#(a)", "x.#.@keys|@flatten", "x.#.[a,b,c,d]", strings.Repeat("x|@this|", 60) + "x.#.a"},
		"lists":      {"x.#.#.#.#.#", "x|@flatten|@flatten", "x.#.@values|@flatten", "[x,x,x,x,x,x]|@flatten|@flatten", "x.#(#>1)#", "x.#(#.#(#.#(#>1)>1)>1)#"},
		"pairs":      {"x.#.a", "x.#(a>0)#.a", "x.#(*>0)", "x.#(@keys.0%\"*b*\")#", "x.#.a|@reverse|@reverse", "x.#(a==~true)#"},
		"texts":      {`x.#(a%"*a*a*a*a*a*b")`, `x.#(a!%"*aaaaaaab*")#`, `x.#(a>"aaaaaaaa")#`, "x.#.a"},
		"names":      {"x.*z*", "x.property_*9.a", "x.@keys.#", "x.@values.0", "x.*", "x.??????????????*z", `x.@keys.#(%"*z*")`},
		"one name":   {"x.*a*b", "x.*aaaaaaaaaaaaaaaab*", "x.*" + strings.Repeat("a*", 200) + "b", "x." + strings.Repeat("?", 400) + "*b", "x.@keys.0"},
		"one text":   {`x.#(a%"*a*b")`, `x.#(a!%"*` + strings.Repeat("a", 400) + `b*")`, `x.0.a`, `x.0.a.@fromstr`, `x.#(a>"a")#.a`},
		"spaces":     {"x.0.a", "x.#.a|0"},
		"long texts": {"x.0.a", "x.#.a|0", "x.#(a)#.a|1"},
		"packed":     {"x.@fromstr.#", "x.@fromstr.#.a", "x|@fromstr|@reverse|0"},
		"packed all": {"x.@fromstr.#", "x.@fromstr.0"},
		"deep":       {"x" + strings.Repeat(".#", 60), "x" + strings.Repeat(".0", 60), "x" + strings.Repeat("|@flatten", 40)},
	}
	for kind, list := range paths {
		paths[kind] = append(list, "x.@answer:email", "x.@answer:name")
	}
	var all []worstCase
	add := func(kind, path, mapping string) {
		all = append(all, worstCase{kind + " " + shorten(path), mapping, bodies[kind]})
	}
	for kind, list := range paths {
		for _, path := range list {
			add(kind, path, "{\"fields\":{"+fieldsOf(path)+"}}")
			add(kind, path+" as items", fmt.Sprintf(`{"items":%q,"fields":{%s}}`, path, fieldsOf("@this")))
		}
	}
	for _, action := range []string{"x.#(a==1)#.x", "x.#.a", "x.#(a%\"*b\")"} {
		add("items", "action "+action, fmt.Sprintf(`{"items":"l","action":%q,"fields":{"email":"e"}}`, action))
	}
	add("names", "the common names", `{"items":"[`+strings.Repeat("x,", 200)+`x]"}`)
	add("long texts", "joined", `{"items":"x","fields":{"name":{"join":["a","a","a"]},"company":{"join":["a","a","a"]}}}`)
	bodies["properties"] = "{" + strings.TrimSuffix(names.String(), ",") + "}"
	bodies["lists by name"] = strings.ReplaceAll(bodies["properties"], `""`, "[]")
	for kind := range bodies {
		all = append(all, worstCase{"no mapping " + kind, "", bodies[kind]})
	}
	return all
}

// No mapping can allocate more than this for the largest payload. Memory was what costly paths exhausted first, and
// its bytes are the same on any machine. No other test may run meanwhile.
func TestWorkIsBounded(t *testing.T) {
	const most = 100 << 20
	cases := worstCases()
	if len(cases) < 40 {
		t.Errorf("there are only %d cases", len(cases))
	}
	for _, tt := range cases {
		m := mustMapping(t, tt.mapping)
		body := []byte(tt.body)
		got := measure.Allocated(func() {
			if _, err := Decode(asJSON, body, m); err != nil && codeOf(err) != fault.MappingTooCostly &&
				codeOf(err) != fault.ValidationFailed && codeOf(err) != fault.PayloadTooLarge {
				t.Errorf("%s: %v", tt.name, err)
			}
		})
		if got > most {
			t.Errorf("%s: allocates %d MiB", tt.name, got>>20)
		}
	}
}

// BenchmarkWorst measures the costliest requests.
func BenchmarkWorst(b *testing.B) {
	for _, tt := range worstCases() {
		m := mustMapping(b, tt.mapping)
		b.Run(tt.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = Decode(asJSON, []byte(tt.body), m)
			}
		})
	}
}
