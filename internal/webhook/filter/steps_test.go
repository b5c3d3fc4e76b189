package filter_test

import (
	"fmt"
	"strings"
	"testing"

	"contactbase/internal/webhook/filter"
)

// event returns the payload of an event with a text of that length.
func event(length int) []byte {
	return fmt.Appendf(nil, `{"type":"contact.updated","data":{"name":"Ada","company":"Acme","notes":%q},"previous":{"company":"Navy"}}`, strings.Repeat("Ä", length/2))
}

// costs are filters, and whether a larger event costs them more.
var costs = map[string]bool{
	`data.company == "Acme"`:                                                false,
	`type in ["contact.created", "contact.updated"]`:                        false,
	`"company" in changed`:                                                  true,
	`data.notes contains "x"`:                                               true,
	`lower(data.notes) == "x"`:                                              true,
	`data.notes == previous.notes`:                                          true,
	`string(data) == string(previous)`:                                      true,
	strings.Repeat(`upper(data.notes) == "x" || `, 15) + `data.notes == ""`: true,
	`len(` + strings.Repeat(`data.notes + `, 40) + `"") > 5`:                true,
	strings.Repeat(`string(data) == "x" || `, 30) + `data.notes == ""`:      true,
	`1 in 1..9000`: true,
	`len(data.name) in 1..(9000 + len(data.name))`: true,
}

// What a filter costs depends on the filter and the size of the event alone, and grows no faster than they do.
func TestSteps(t *testing.T) {
	t.Parallel()
	for text, grows := range costs {
		f, err := filter.Compile(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		steps := func(length int) int {
			parsed, err := filter.Parse(event(length))
			if err != nil {
				t.Fatal(err)
			}
			return f.Steps(parsed)
		}
		short, long := steps(0), steps(60_000)
		if short <= 0 || short != steps(0) || (long > short) != grows {
			t.Errorf("%s takes %d steps for a short event and %d for a long one", text, short, long)
		}
	}
	usual, err := filter.Compile(`type == "contact.created" && data.company == "Acme" && !("email" in changed)`)
	if err != nil {
		t.Fatal(err)
	}
	if parsed, _ := filter.Parse(event(0)); usual.Steps(parsed)*5_000 > filter.MaxSteps {
		t.Errorf("a usual filter takes %d steps", usual.Steps(parsed))
	}
}

// BenchmarkSteps shows what a step takes.
func BenchmarkSteps(b *testing.B) {
	for text := range costs {
		for _, length := range []int{0, 60_000} {
			b.Run(fmt.Sprintf("%.40s/%d", text, length), func(b *testing.B) {
				f, err := filter.Compile(text)
				if err != nil {
					b.Fatal(err)
				}
				parsed, err := filter.Parse(event(length))
				if err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					_, _ = f.Match(parsed)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(f.Steps(parsed)), "ns/step")
			})
		}
	}
}
