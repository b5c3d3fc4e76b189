package dashboard

import (
	"io/fs"
	"regexp"
	"testing"
)

// ownRule finds the classes that have a rule of their own, not one of several selectors.
var ownRule = regexp.MustCompile(`[^,]\n(\.integrations-[a-z-]+) \{\n`)

// All styles are joined: a class that two files style by accident looks in both places as neither meant it.
func TestClassesAreStyledOnce(t *testing.T) {
	t.Parallel()
	names, err := fs.Glob(files, "styles/*.css")
	if err != nil {
		t.Fatal(err)
	}
	places := map[string]string{}
	for _, name := range names {
		styles, err := files.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range ownRule.FindAllSubmatch(styles, -1) {
			class := string(found[1])
			if places[class] != "" {
				t.Errorf("%s is styled in %s and again in %s", class, places[class], name)
			}
			places[class] = name
		}
	}
	if len(places) < 20 {
		t.Errorf("only %d classes are found", len(places))
	}
}
