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
	files, pattern *regexp.Regexp
	with           string // as regexp.ReplaceAllString expects it
}

// edits replace the current names, which the sources tell themselves. The names of all files tell which directories a Go package can be in.
func (h *Home) edits(root string, names []string) ([]edit, error) {
	current := map[string]string{}
	for name, pattern := range map[string]string{
		"go.mod": `(?m)^module (\S+)$`, "clients/typescript/package.json": `"name": "([^"]+)"`, "deploy/container/compose.yaml": `image: (\S+):\$\{VERSION`,
	} {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return nil, err
		}
		found := regexp.MustCompile(pattern).FindSubmatch(content)
		if found == nil {
			return nil, fmt.Errorf("%s does not match %s", name, pattern)
		}
		current[name] = regexp.QuoteMeta(string(found[1]))
	}
	folders := map[string]bool{}
	for _, name := range names {
		if folder, _, isBelow := strings.Cut(name, "/"); isBelow {
			folders[regexp.QuoteMeta(folder)] = true
		}
	}
	module, image := current["go.mod"], current["deploy/container/compose.yaml"]
	packages := "/(?:" + strings.Join(slices.Collect(maps.Keys(folders)), "|") + `)\b`
	links := ""
	if h.Repository != "" {
		links = fmt.Sprintf(`  "repository": "git+%s.git",`+"\n"+`  "bugs": "%[1]s/issues",`+"\n", h.Repository)
	}
	everywhere := regexp.MustCompile("")
	return []edit{
		{everywhere, regexp.MustCompile(`(^|[^\w./-])` + module + "(" + packages + ")"), "${1}" + h.GoModule + "${2}"},
		{regexp.MustCompile(`go\.mod$|^\.golangci\.yml$`), regexp.MustCompile(`(module |pkg: |local-prefixes: \[)` + module + `([\s,\]])`), "${1}" + h.GoModule + "${2}"},
		{
			regexp.MustCompile(`^(clients/typescript|docs/reference|e2e/testdata/creator)/`),
			regexp.MustCompile(`"` + current["clients/typescript/package.json"] + `(/webhook|/\*)?"`), `"` + h.NPMPackage + `${1}"`,
		},
		{everywhere, regexp.MustCompile(`(^|[\s"])` + image + `(:[\d$])`), "${1}" + h.Image + "${2}"},
		{regexp.MustCompile(`^clients/typescript/package\.json$`), regexp.MustCompile(`(?m)^(  "license": .*\n)(?:  "(?:repository|bugs)": .*\n)*`), "${1}" + links},
	}, nil
}

//go:embed texts.tmpl
var source string

var texts = template.Must(template.New("texts").Parse(source))

// block is a text that depends on the home, in Markdown or in a file with # before its comments.
var block = regexp.MustCompile(`(?ms)^( *(?:<!--|#) home: ([\w-]+)(?: -->)?\n)(.*?)^( *(?:<!--|#) /home)\b`)

// fill replaces the texts between marks such as "<!-- home: client-go -->" and "<!-- /home -->" by those of the template.
func (h *Home) fill(content string) (string, error) {
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
