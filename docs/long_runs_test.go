package docs

import (
	"regexp"
	"strings"
	"testing"
)

// The page about tests stays short, its tasks exist with their variables, and a figure names the commit that
// it was measured on.
func TestLongRuns(t *testing.T) {
	t.Parallel()
	page, taskfile := read(t, "what-we-test.md"), read(t, "../Taskfile.yml")
	if lines := strings.Count(page, "\n"); lines >= 100 {
		t.Errorf("the page has %d lines, not fewer than 100", lines)
	}
	tasks := regexp.MustCompile("`task ([a-z:]+)((?: [A-Z]+=[^ `]+)*)`").FindAllStringSubmatch(page, -1)
	if len(tasks) < 10 {
		t.Errorf("the page has only the tasks %q", tasks)
	}
	for _, task := range tasks {
		_, body, found := strings.Cut(taskfile, "\n  "+task[1]+":\n")
		body, _, _ = strings.Cut(body, "\n\n")
		if !found {
			t.Errorf("Taskfile.yml has no task %s", task[1])
		}
		for _, variable := range strings.Fields(task[2]) {
			if name, _, _ := strings.Cut(variable, "="); !strings.Contains(body, "."+name) && !strings.Contains(body, "["+name+"]") {
				t.Errorf("the task %s has no variable %s", task[1], name)
			}
		}
	}
	figure := regexp.MustCompile(`\([0-9a-f]{8}\)$|<!-- RESULTS.* -->|(^|, )(each commit|20 seconds each commit)$|^before each release$`)
	_, table, _ := strings.Cut(page, "## Promises")
	table, _, _ = strings.Cut(table, "\n## ")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		if strings.HasPrefix(line, "| ") && cells[0] != "promise" && (len(cells) != 4 || !figure.MatchString(cells[3])) {
			t.Errorf("this row has no figure with its commit: %s", line)
		}
	}
}
