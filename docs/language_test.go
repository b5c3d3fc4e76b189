package docs

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// idiom is a phrase that the project's texts do not use.
type idiom struct {
	pattern *regexp.Regexp
	write   string // what to write instead
}

func readIdioms(t *testing.T, name string) (all []idiom) {
	t.Helper()
	for line := range strings.Lines(readFile(t, name)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		pattern, write, found := strings.Cut(strings.TrimSpace(line), "\t")
		if !found {
			t.Fatalf("%s: no tab in %q", name, line)
		}
		all = append(all, idiom{regexp.MustCompile("(?i)" + pattern), write})
	}
	return all
}

// Comments and strings of Go, the guides, the OpenAPI document and the dashboard avoid the idioms in testdata; guides avoid more of them.
func TestLanguage(t *testing.T) {
	t.Parallel()
	everywhere := readIdioms(t, "testdata/idioms.txt")
	prose := slices.Concat(everywhere, readIdioms(t, "testdata/idioms-prose.txt"))
	checked := 0
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := entry.Name(); entry.IsDir() && (name == "node_modules" || name == ".git" || name == "dist") {
			return fs.SkipDir
		}
		text := textOf(t, path)
		if text == "" {
			return nil
		}
		checked++
		idioms := prose
		if filepath.Ext(path) != ".md" {
			idioms = everywhere
		}
		for _, problem := range findIdioms(text, idioms) {
			t.Errorf("%s:%s", strings.TrimPrefix(filepath.ToSlash(path), "../"), problem)
		}
		return nil
	})
	if err != nil || checked < 500 {
		t.Errorf("%d files were checked: %v", checked, err)
	}
}

func TestFindIdioms(t *testing.T) {
	t.Parallel()
	idioms := []idiom{{regexp.MustCompile(`(?i)\bwhoever\b`), "the client"}}
	comments := commentsAndStrings([]byte("package x // the client\n\nvar whoever = `\n` + \"Whoever\"\n"))
	if got := findIdioms(comments, idioms); len(got) != 1 || got[0] != `4: "Whoever": write the client` {
		t.Errorf("the problems are %q", got)
	}
	if got := withoutCode("a\n```\nwhoever\n```\nb `whoever`\n"); got != "a\n\n\n\nb \n" {
		t.Errorf("the prose is %q", got)
	}
}

// findIdioms describes each use of an idiom in the text, with its line.
func findIdioms(text string, idioms []idiom) (problems []string) {
	if !slices.ContainsFunc(idioms, func(i idiom) bool { return i.pattern.MatchString(text) }) {
		return nil
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		for _, idiom := range idioms {
			if used := idiom.pattern.FindString(line); used != "" {
				problems = append(problems, fmt.Sprintf("%d: %q: write %s", number, used, idiom.write))
			}
		}
	}
	return problems
}

// textOf returns what people read in a file, on the lines where it stands there; "" if the file is not checked.
func textOf(t *testing.T, path string) string {
	t.Helper()
	slashed := filepath.ToSlash(path)
	switch {
	case strings.HasSuffix(path, ".go"):
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return commentsAndStrings(source)
	case strings.HasSuffix(path, ".md"):
		return withoutCode(readFile(t, path))
	case slashed == "../api/openapi.yaml", strings.HasPrefix(slashed, "../dashboard/modules/"):
		return readFile(t, path)
	}
	return ""
}

// commentsAndStrings returns the comments and string literals of a Go file.
func commentsAndStrings(source []byte) string {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, scanner.ScanComments)
	var text strings.Builder
	for line := 1; ; {
		position, kind, literal := s.Scan()
		if kind == token.EOF {
			return text.String()
		}
		if kind != token.COMMENT && kind != token.STRING {
			continue
		}
		if at := file.Line(position); at > line {
			text.WriteString(strings.Repeat("\n", at-line))
			line = at
		}
		text.WriteString(literal)
		line += strings.Count(literal, "\n")
	}
}

var (
	fences = regexp.MustCompile("(?ms)^```.*?^```")
	spans  = regexp.MustCompile("`[^`\n]*`")
)

// withoutCode returns Markdown without its code, with as many lines.
func withoutCode(markdown string) string {
	prose := fences.ReplaceAllStringFunc(markdown, func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
	return spans.ReplaceAllString(prose, "")
}
