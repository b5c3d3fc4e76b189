package backup

import (
	"bufio"
	"os"
	"strings"
)

// mountPoints returns the paths at which file systems are mounted, none if they are unknown.
func mountPoints() (paths []string) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // it was only read
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if fields := strings.Fields(lines.Text()); len(fields) > 4 {
			paths = append(paths, unescape.Replace(fields[4]))
		}
	}
	return paths
}
