package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// writeNotes writes what the changelog says about the version.
func (r *release) writeNotes() error {
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	notes, err := notesOf(string(changelog), r.version)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "notes.md"), []byte(notes), 0o644)
}

// notesOf returns the section of a version. A pre-release has the section of the version that follows it or, if that
// has none yet, the section of unreleased changes, which may be empty.
func notesOf(changelog, version string) (string, error) {
	next, _, prerelease := strings.Cut(version, "-")
	notes, err := section(changelog, next)
	if err == nil || !prerelease {
		return notes, err
	}
	if notes, err = section(changelog, "Unreleased"); err != nil {
		return "Nothing has changed yet.\n", nil //nolint:nilerr // right after a release
	}
	return notes, nil
}

// section returns the text below the heading of a version, such as "## [1.0.0] - 2026-01-31". See
// https://keepachangelog.com/en/1.1.0/.
func section(changelog, version string) (string, error) {
	_, after, found := strings.Cut(changelog, "\n## ["+version+"]")
	if !found {
		return "", fmt.Errorf("CHANGELOG.md has no section [%s]", version)
	}
	_, after, _ = strings.Cut(after, "\n") // the rest of the heading
	text, _, _ := strings.Cut(after, "\n## [")
	if text = strings.TrimSpace(text); text == "" {
		return "", errors.New("CHANGELOG.md says nothing about " + version)
	}
	return text + "\n", nil
}

// writeChecksums writes the checksum of each file that is published, as sha256sum -c reads them.
func (r *release) writeChecksums() error {
	const name = "SHA256SUMS"
	published, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	return create(filepath.Join(r.out, name), func(sums io.Writer) error {
		for _, file := range published {
			content, err := os.ReadFile(filepath.Join(r.out, file.Name()))
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintf(sums, "%x  %s\n", sha256.Sum256(content), file.Name()); err != nil {
				return err
			}
		}
		return nil
	})
}
