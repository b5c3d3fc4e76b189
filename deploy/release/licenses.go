package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// licensePaper is the name of the file with the licenses of the dependencies, in archives, packages and the image.
const licensePaper = "THIRD_PARTY_LICENSES"

// licenseName matches the files that license the packages of their directory and below.
var licenseName = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|copyright)([.-].*)?$`)

// licenses are the license texts of what is compiled into an executable, each with its modules.
type licenses map[string][]string

// readLicenses reads the licenses of the packages that are compiled for a system. A dependency without one is an error.
func (r *release) readLicenses(ctx context.Context, t target) (licenses, error) {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Dir,Standard,Module", ".")
	list.Dir, list.Env = r.root, append(os.Environ(), "GOOS="+t.system,
		"GOARCH="+t.machine, "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := licenses{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir      string
			Standard bool
			Module   *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		switch {
		case p.Standard:
			err = all.add("Go", goRoot(p.Dir), goRoot(p.Dir))
		case !p.Module.Main:
			err = all.add(p.Module.Path+" "+p.Module.Version, p.Dir, p.Module.Dir)
		}
		if err != nil {
			return nil, err
		}
	}
}

// goRoot returns the root of the Go distribution, from the directory of a package of its standard library.
func goRoot(folder string) string {
	root, _, _ := strings.Cut(filepath.ToSlash(folder), "/src/")
	return root
}

// add adds the license files in a package's directory and in those above it, up to the one of its module.
func (l licenses) add(name, folder, root string) error {
	found := false
	for ; ; folder = filepath.Dir(folder) {
		files, err := os.ReadDir(folder)
		if err != nil {
			return err
		}
		for _, file := range files {
			if file.IsDir() || filepath.Ext(file.Name()) == ".go" || !licenseName.MatchString(file.Name()) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(folder, file.Name()))
			if err != nil {
				return err
			}
			found = true
			if names := l[string(text)]; !slices.Contains(names, name) {
				l[string(text)] = append(names, name)
			}
		}
		if folder == root || !strings.HasPrefix(folder, root) {
			break
		}
	}
	if !found {
		return fmt.Errorf("%s has no license file", name)
	}
	return nil
}

// of returns the SPDX identifiers of a module's licenses, sorted.
func (l licenses) of(name string) []string {
	ids := map[string]bool{}
	for text, names := range l {
		if slices.Contains(names, name) {
			for _, match := range licensecheck.Scan([]byte(text)).Match {
				ids[match.ID] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// write writes the texts in the order of the modules.
func (l licenses) write(to io.Writer) error {
	type text struct{ names, body string }
	var texts []text
	for body, names := range l {
		slices.Sort(names)
		texts = append(texts, text{strings.Join(names, "\n"), strings.TrimSpace(body)})
	}
	slices.SortFunc(texts, func(a, b text) int { return strings.Compare(a.names+"\x00"+a.body, b.names+"\x00"+b.body) })
	out := bufio.NewWriter(to)
	fmt.Fprint(out, "Contactbase contains these programs, under these licenses.\n")
	for _, text := range texts {
		fmt.Fprintf(out, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), text.names, text.body)
	}
	return out.Flush()
}
