// Package home reads where Contactbase is published, and writes these addresses into the sources.
package home

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// File is the file with the addresses, relative to the root of the sources.
const File = "deploy/home.yaml"

// Home is where Contactbase is published. Without a repository, it is not.
type Home struct {
	Repository string `yaml:"repository"` // URL without a slash at its end
	GoModule   string `yaml:"goModule"`
	NPMPackage string `yaml:"npmPackage"` // with its scope
	Image      string `yaml:"image"`      // without a tag
	Maintainer string `yaml:"maintainer"` // Name <address>
	Homepage   string `yaml:"homepage"`   // URL
	Support    string `yaml:"support"`    // URL or email address
	Security   string `yaml:"security"`   // email address
	Apt        string `yaml:"apt"`        // URL without a slash at its end
}

// The forms of the values. They become part of commands, YAML and Markdown, so they contain neither spaces nor quotes.
const (
	address = `https://[\w./~-]+[\w-]`
	mail    = `[\w.+-]+@[\w.-]+`
)

// Read reads the addresses of the sources at root.
func Read(root string) (*Home, error) {
	content, err := os.ReadFile(filepath.Join(root, File))
	if err != nil {
		return nil, err
	}
	h := &Home{}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(h); err != nil {
		return nil, fmt.Errorf("%s: %w", File, err)
	}
	hosted := `(?:[\w.:-]+/)*`
	if h.Repository != "" {
		hosted = `[\w-]+\.[\w.:-]+/(?:[\w.-]+/)*`
	}
	for _, field := range []struct{ name, value, form, example string }{
		{"repository", h.Repository, "|" + address, "https://github.com/acme/contactbase"},
		{"goModule", h.GoModule, hosted + "contactbase", "github.com/acme/contactbase"},
		{"npmPackage", h.NPMPackage, `(?:@[a-z0-9._-]+/)?[a-z0-9._-]+`, `"@acme/contactbase"`},
		{"image", h.Image, hosted + `[a-z0-9._-]+`, "ghcr.io/acme/contactbase"},
		{"maintainer", h.Maintainer, `[\pL .'-]+ <` + mail + ">", "Acme <contactbase@acme.example>"},
		{"homepage", h.Homepage, "|" + address, "https://contactbase.example"},
		{"support", h.Support, "|" + address + "|" + mail, "https://github.com/acme/contactbase/discussions"},
		{"security", h.Security, "|" + mail, "security@acme.example"},
		{"apt", h.Apt, "|" + address, "https://packages.contactbase.example"},
	} {
		if !regexp.MustCompile(`^(?:` + field.form + `)$`).MatchString(field.value) {
			return nil, fmt.Errorf("%s: %s is %q, but must look like %s", File, field.name, field.value, field.example)
		}
	}
	return h, nil
}

// Write writes the addresses into the files that git tracks at root, and returns the names of those that changed.
func (h *Home) Write(ctx context.Context, root string) (changed []string, err error) {
	out, err := exec.CommandContext(ctx, "git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		return nil, fmt.Errorf("listing the files with git: %w", err)
	}
	names := strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 })
	edits, err := h.edits(root, names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path := filepath.Join(root, name)
		before, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted, but not yet committed
		}
		if err != nil {
			return changed, err
		}
		after := string(before)
		for _, edit := range edits {
			after = edit.apply(name, after)
		}
		if after, err = h.fill(after); err != nil {
			return changed, fmt.Errorf("%s: %w", name, err)
		}
		if after == string(before) {
			continue
		}
		if err := os.WriteFile(path, []byte(after), 0o644); err != nil {
			return changed, err
		}
		changed = append(changed, name)
	}
	return changed, nil
}
