package main

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

const sectionMark = "\n### "

// keepSection writes a section into a file, in place of the one that has its title up to the colon, and otherwise behind all.
func keepSection(path, section string) error {
	kept, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	sections := strings.Split(string(kept), sectionMark)[1:]
	section = strings.TrimPrefix(section, sectionMark)
	replaced := false
	for i, old := range sections {
		if title(old) == title(section) {
			sections[i], replaced = section, true
		}
	}
	if !replaced {
		sections = append(sections, section)
	}
	var all strings.Builder
	all.WriteString(preamble())
	for _, s := range sections {
		all.WriteString(sectionMark + strings.TrimRight(s, "\n") + "\n")
	}
	return os.WriteFile(path, []byte(all.String()), 0o644) //nolint:gosec // for everybody to read
}

func title(section string) string {
	name, _, _ := strings.Cut(section, ":")
	return name
}
