package doctor

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode/utf8"
)

// lineWidth is the maximum length of a finding's line, unless a word is longer.
const lineWidth = 120

// foundWidth is what the first columns leave of that.
const foundWidth = lineWidth - len("permissions  warning  ")

// Print prints a table. Its last column has the finding and, below, what to do.
func Print(to io.Writer, findings []Finding) error {
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHECK\tSTATUS\tFOUND")
	for _, f := range findings {
		lines := wrap(f.Found, foundWidth)
		if f.Advice != "" {
			lines = append(lines, wrap("→ "+f.Advice, foundWidth)...)
		}
		lead := f.Check + "\t" + f.Status + "\t"
		for _, line := range lines {
			fmt.Fprintln(table, lead+line)
			lead = "\t\t"
		}
	}
	return table.Flush()
}

// wrap breaks a text at spaces into lines of at most width characters.
func wrap(text string, width int) (lines []string) {
	line := ""
	for word := range strings.SplitSeq(text, " ") {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
