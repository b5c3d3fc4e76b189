package docs

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

const clientsFolder = "../e2e/clients/"

// The commands and settings of the guide are those that are tested, in the same versions.
func TestClientsGuide(t *testing.T) {
	t.Parallel()
	source, err := sources.ReadFile("clients.md")
	if err != nil {
		t.Fatal(err)
	}
	guide := string(source)
	var tested struct {
		Scripts         map[string]string
		DevDependencies map[string]string
	}
	if err := json.Unmarshal([]byte(readFile(t, clientsFolder+"package.json")), &tested); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"openapi-typescript", "hey-api", "orval", "postman"} {
		if command := tested.Scripts[name]; command == "" || !strings.Contains(guide, "\nnpx "+command+"\n") {
			t.Errorf("the guide does not have the command %q", command)
		}
	}
	for _, install := range regexp.MustCompile(`(?m)^npm install.*$`).FindAllString(guide, -1) {
		// our own client has no version there
		for _, wanted := range regexp.MustCompile(`(\S+)@(\d\S*)`).FindAllStringSubmatch(install, -1) {
			if version := tested.DevDependencies[wanted[1]]; version != wanted[2] {
				t.Errorf("the guide installs %s, the test %q", wanted[0], version)
			}
		}
	}
	for _, file := range []string{"go/oapi-codegen.yaml", "orval.config.cjs"} {
		if text := readFile(t, clientsFolder+file); !strings.Contains(guide, "\n"+text+"```\n") {
			t.Errorf("the guide does not have %s as it is", file)
		}
	}
	tool := regexp.MustCompile(`oapi-codegen/v2/cmd/oapi-codegen@(\S+)`).FindStringSubmatch(guide)
	if tool == nil || !strings.Contains(readFile(t, clientsFolder+"go/go.mod"), "github.com/oapi-codegen/oapi-codegen/v2 "+tool[1]+" ") {
		t.Errorf("the guide has another version of oapi-codegen: %q", tool)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
