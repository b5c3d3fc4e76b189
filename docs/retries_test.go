package docs

import (
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"contactbase/internal/delivery"
)

// policy returns the figures of the retry policy, as texts have them.
func policy(p delivery.Policy) map[string]string {
	numbers, rule, after := "| attempt |", "|---|", "| after |"
	for i, delay := range p.Delays {
		numbers, rule, after = numbers+" "+strconv.Itoa(i+1)+" |", rule+"---|", after+" "+shortly(delay)+" |"
	}
	return map[string]string{
		"attempts":   strconv.Itoa(len(p.Delays)),
		"hours":      strconv.Itoa(int(math.Round(p.Total().Hours()))),
		"days":       strconv.Itoa(p.DeadDays()),
		"retryAfter": strconv.Itoa(int(p.MaxRetryAfter.Hours())),
		"jitter":     strconv.Itoa(int(100 * p.Jitter)),
		"schedule":   numbers + "\n" + rule + "\n" + after,
	}
}

// shortly returns a delay as the table of the schedule shows it.
func shortly(delay time.Duration) string {
	switch {
	case delay == 0:
		return "at once"
	case delay%time.Hour == 0:
		return strconv.Itoa(int(delay.Hours())) + " h"
	case delay%time.Minute == 0:
		return strconv.Itoa(int(delay.Minutes())) + " min"
	}
	return strconv.FormatFloat(delay.Seconds(), 'f', -1, 64) + " s"
}

// Sentences about retries, each with the place of its figure.
var retries = []struct{ file, sentence, figure string }{
	{"delivery.md", `(\w+) attempts have failed`, "attempts"},
	{"delivery.md", `(\| attempt \|.*\n.*\n\| after \|.*)\n`, "schedule"},
	{"delivery.md", `together they take about (\w+) hours`, "hours"},
	{"delivery.md", `Each delay varies by up to (\w+) percent`, "jitter"},
	{"delivery.md", `later than the schedule, up to (\w+) hours`, "retryAfter"},
	{"delivery.md", `\*\*every attempt for (\w+) days\*\*`, "days"},
	{"delivery.md", `does not block a contact for (\w+) days`, "days"},
	{"comparison.md", `delivery attempts \| (\w+) in `, "attempts"},
	{"comparison.md", `delivery attempts \| \w+ in (\w+) hours`, "hours"},
	{"architecture.md", `and retries for (\w+) days`, "days"},
	{"architecture.md", `failed after (\w+) days`, "days"},
	{"monitoring.md", `fail permanently after (\w+) days`, "days"},
	{"notices.md", `responded with 410 or failed for (\w+) days`, "days"},
	{"using-the-portal.md", `A failed delivery is retried for (\w+) days`, "days"},
	{"using-the-portal.md", `attempt fails for (\w+) days`, "days"},
	{"site/assets/architecture.svg", `(\w+) attempts in `, "attempts"},
	{"site/assets/architecture.svg", `attempts in (\w+) hours`, "hours"},
	{"../api/openapi.yaml", "`Retry-After` of up to (\\w+) hours", "retryAfter"},
	{"../api/openapi.yaml", `After (\w+) days without a success, it disables`, "days"},
	{"../api/openapi.yaml", `answered 410 or failed for (\w+) days`, "days"},
	{"../deploy/alerts.yml", `After (\w+) days, the delivery fails permanently`, "days"},
	{"../dashboard/modules/recovery.js", `it is retried for about (\w+) days`, "days"},
	{"../dashboard/modules/webhooks.js", `Failed deliveries are retried for (\w+) days`, "days"},
}

var digits = []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"}

// What documents, alerts and the dashboard say of retries is the retry policy. With -update, they receive it.
func TestRetries(t *testing.T) {
	t.Parallel()
	figures := policy(delivery.DefaultPolicy())
	for _, place := range retries {
		text := read(t, place.file)
		at := regexp.MustCompile(place.sentence).FindStringSubmatchIndex(text)
		if at == nil {
			t.Errorf("%s has no sentence like %q: change it here, too", place.file, place.sentence)
			continue
		}
		got, want := text[at[2]:at[3]], figures[place.figure]
		if number, err := strconv.Atoi(want); err == nil && number < len(digits) && slices.Contains(digits, got) {
			want = digits[number]
		}
		switch {
		case got == want:
		case *update:
			if err := os.WriteFile(place.file, []byte(text[:at[2]]+want+text[at[3]:]), 0o644); err != nil {
				t.Error(err)
			}
		default:
			t.Errorf("%s has %q where the retry policy has %q: %s", place.file, got, want, strings.TrimSpace(text[at[0]:at[1]]))
		}
	}
}

// With another policy, each sentence has another figure.
func TestRetriesOfAnotherPolicy(t *testing.T) {
	t.Parallel()
	other := delivery.DefaultPolicy()
	other.Delays = append(other.Delays, 24*time.Hour, 25*time.Hour)
	other.Jitter, other.MaxRetryAfter = 0.2, 48*time.Hour
	figures, others := policy(delivery.DefaultPolicy()), policy(other)
	for name := range figures {
		if figures[name] == others[name] {
			t.Errorf("%s is %q with either policy", name, others[name])
		}
	}
	want := "| after | at once | 5 s | 1 min | 5 min | 30 min | 2 h | 6 h | 12 h | 24 h | 28 h | 24 h | 25 h |"
	if !strings.HasSuffix(others["schedule"], want) {
		t.Errorf("the schedule is %s", others["schedule"])
	}
}
