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

// writeNotes writes what the changelog says of the version; of a pre-release that is what is not released yet.
func (r *release) writeNotes(prerelease bool) error {
	changelog, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	name := r.version
	if prerelease {
		name = "Unreleased"
	}
	notes, err := section(string(changelog), name)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "notes.md"), []byte(notes), 0o644)
}

// section returns what stands below the heading of a version, such as "## [1.0.0] - 2026-01-31".
// See https://keepachangelog.com/en/1.1.0/.
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
