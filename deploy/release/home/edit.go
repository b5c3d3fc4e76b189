package home

import (
	_ "embed"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

// edit replaces a name in some files.
type edit struct {
	files   *regexp.Regexp
	old     string // part of each match; most files do not contain it
	pattern *regexp.Regexp
	with    string // as regexp.ReplaceAllString expects it
}

func (e edit) apply(name, content string) string {
	if !strings.Contains(content, e.old) || !e.files.MatchString(name) {
		return content
	}
	return e.pattern.ReplaceAllString(content, e.with)
}

// edits returns the edits that replace the current names, which it reads from the sources. Any directory among the
// given files may have a Go package.
func (h *Home) edits(root string, names []string) ([]edit, error) {
	folders := map[string]bool{}
	for _, name := range names {
		if folder, _, isBelow := strings.Cut(name, "/"); isBelow {
			folders[regexp.QuoteMeta(folder)] = true
		}
	}
	links := ""
	if h.Repository != "" {
		links = fmt.Sprintf(`  "repository": "git+%s.git",`+"\n"+`  "bugs": "%[1]s/issues",`+"\n", h.Repository)
	}
	all := []edit{
		{regexp.MustCompile(`^clients/typescript/package\.json$`), "license",
			regexp.MustCompile(`(?m)^(  "license": .*\n)(?:  "(?:repository|bugs)": .*\n)*`), "${1}" + links},
	}
	for _, name := range []struct{ source, current, files, before, after, with string }{
		{"go.mod", `(?m)^module (\S+)$`, "", `(^|[^\w./-])`,
			"(/(?:" + strings.Join(slices.Collect(maps.Keys(folders)), "|") + `)\b)`, h.GoModule},
		{"go.mod", `(?m)^module (\S+)$`, `go\.mod$|^\.golangci\.yml$`,
			`(module |require |replace |pkg: |local-prefixes: \[)`, `([\s,\]])`, h.GoModule},
		{"clients/typescript/package.json", `"name": "([^"]+)"`,
			`^(clients/typescript|docs/reference|e2e/testdata/creator)/`,
			`(")`, `((?:/webhook|/\*)?")`, h.NPMPackage},
		{"deploy/container/compose.yaml", `image: (\S+):\$\{VERSION`, "", `(^|[\s"])`, `(:[\d$])`, h.Image},
	} {
		content, err := os.ReadFile(filepath.Join(root, name.source))
		if err != nil {
			return nil, err
		}
		found := regexp.MustCompile(name.current).FindStringSubmatch(string(content))
		if found == nil {
			return nil, fmt.Errorf("%s does not match %s", name.source, name.current)
		}
		old := found[1]
		all = append(all, edit{
			regexp.MustCompile(name.files), old, regexp.MustCompile(name.before + regexp.QuoteMeta(old) + name.after),
			"${1}" + name.with + "${2}",
		})
	}
	return all, nil
}

//go:embed texts.tmpl
var source string

var texts = template.Must(template.New("texts").Parse(source))

// block is a text that depends on the home, in Markdown or in a file with # before its comments.
var block = regexp.MustCompile(`(?ms)^( *(?:<!--|#) home: ([\w-]+)(?: -->)?\n)(.*?)^( *(?:<!--|#) /home)\b`)

// fill replaces the texts between marks such as "<!-- home: client-go -->" and "<!-- /home -->" by
// those of the template.
func (h *Home) fill(content string) (string, error) {
	if !strings.Contains(content, " home: ") {
		return content, nil
	}
	var wrong error
	filled := block.ReplaceAllStringFunc(content, func(found string) string {
		parts := block.FindStringSubmatch(found)
		var text strings.Builder
		if err := texts.ExecuteTemplate(&text, parts[2], h); err != nil {
			wrong = err
		}
		return parts[1] + text.String() + parts[4]
	})
	return filled, wrong
}
