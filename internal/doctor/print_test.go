package doctor

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// Findings are wrapped to the width of a screen, without losing text.
func TestFindingsAreWrapped(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	advice := strings.TrimSpace(strings.Repeat("see what it ansẅers ", 20))
	path := strings.Repeat("/folder", 30)
	if err := Print(&out, []Finding{
		{Check: "disk", Status: OK, Found: "there is room"},
		{Check: "webhooks", Status: Warning, Found: strings.TrimSpace(strings.Repeat("takes nothing ", 20)), Advice: advice},
		{Check: "permissions", Status: Failed, Found: "this user cannot write to " + path},
	}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if utf8.RuneCountInString(line) > lineWidth && !strings.Contains(line, path) || strings.TrimRight(line, " ") != line {
			t.Errorf("a line is %q", line)
		}
	}
	if printed := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(printed, "→ "+advice) || !strings.Contains(printed, path) {
		t.Errorf("it prints %s", &out)
	}
}
