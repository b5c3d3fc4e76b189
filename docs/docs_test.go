package docs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"contactbase/clients"
)

func TestPages(t *testing.T) {
	t.Parallel()
	address := regexp.MustCompile(`(?:href|src)="([^"]+)"`)
	for name, page := range rendered() {
		base := &url.URL{Path: "/below/docs"}
		if name != Introduction {
			base = base.JoinPath(name)
		}
		for _, link := range address.FindAllSubmatch(page, -1) {
			target, err := base.Parse(string(link[1]))
			if err != nil || !strings.HasPrefix(target.Path, "/below/") && target.Host == "" && target.Scheme == "" {
				t.Errorf("%q leads to %s (%v), out of the path that a proxy gives the program", name, link[1], err)
				continue
			}
			inside, isDocs := strings.CutPrefix(target.Path, "/below/docs")
			inside = strings.TrimPrefix(inside, "/")
			if strings.HasPrefix(inside, "clients/contactbase-0.0.0") {
				continue // which the program packs
			}
			if asset, isAsset := strings.CutPrefix(inside, "assets/"); isAsset {
				if _, err := fs.Stat(Assets(), asset); err != nil {
					t.Errorf("%q leads to an asset that is not there: %v", name, err)
				}
			} else if to, found := Render(inside, clients.NamesFor("")); isDocs && !found {
				t.Errorf("%q leads to /docs/%s, which is not there", name, inside)
			} else if isDocs && target.Fragment != "" && !strings.Contains(string(to), `id="`+target.Fragment+`"`) {
				t.Errorf("%q leads to %s on %q, which is not there", name, target.Fragment, inside)
			} else if outside, isOurs := strings.CutPrefix(target.Path, "/below/"); isOurs && !isDocs && outside != "" && outside != "openapi.json" {
				t.Errorf("%q leads to /%s, which the program does not have", name, outside)
			}
		}
	}
	if _, found := Render("unknown", clients.NamesFor("")); found {
		t.Error("there is a page that nobody wrote")
	}
}

// Pictures are named for those who do not see them, and follow the colours of the reader.
func TestPictures(t *testing.T) {
	t.Parallel()
	pictures, err := fs.Glob(Assets(), "*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatalf("there are no pictures: %v", err)
	}
	for _, name := range pictures {
		text, err := fs.ReadFile(Assets(), name)
		if err != nil {
			t.Fatal(err)
		}
		var picture struct {
			Title string `xml:"title"`
			Style string `xml:"style"`
		}
		if err := xml.Unmarshal(text, &picture); err != nil || picture.Title == "" || !strings.Contains(picture.Style, "prefers-color-scheme: dark") {
			t.Errorf("%s is %+v: %v", name, picture, err)
		}
	}
}

// What the files at the top of the repository, and the guides, lead to in it is there.
func TestLinksInTheRepository(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#:\s]+)[)#]`)
	for _, pattern := range []string{"../*.md", "*.md", "adr/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		for _, name := range names {
			for _, target := range link.FindAllStringSubmatch(readFile(t, name), -1) {
				if _, err := os.Stat(filepath.Join(filepath.Dir(name), target[1])); err != nil {
					t.Errorf("%s leads to %s: %v", name, target[1], err)
				}
			}
		}
	}
}

func TestSiteLink(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ page, given, want string }{
		{"delivery", "inbound.md", "inbound"},
		{"delivery", "introduction.md#errors", "../docs#errors"},
		{"delivery", "errors-and-limits.md#limits", "errors-and-limits#limits"},
		{"delivery", "#limits", "#limits"},
		{"delivery", "https://example.com/a.md", "https://example.com/a.md"},
		{"delivery", "adr/0001-x.md", "adr/0001-x.md"},
		{"delivery", "site/assets/flow.json", "assets/flow.json"},
		{"delivery", "../api/openapi.yaml", "../openapi.json"},
		{"reference", "/docs/delivery#retries", "delivery#retries"},
		{Introduction, "inbound.md#limits", "docs/inbound#limits"},
		{Introduction, "../api/openapi.yaml", "./openapi.json"},
	} {
		if got := siteLink(tc.page)(tc.given); got != tc.want {
			t.Errorf("on %q, %s becomes %s, not %s", tc.page, tc.given, got, tc.want)
		}
	}
}

// driver runs a snippet: it calls verify with what the environment holds and prints the outcomes.
type driver struct {
	command       []string // before the file
	file          string
	before, after string
}

var drivers = map[string]driver{
	"go": {
		[]string{"go", "run"}, "verify.go", "package main\n",
		`
func main() {
	body, signature, secret := os.Getenv("BODY"), os.Getenv("SIGNATURE"), os.Getenv("SECRET")
	fmt.Println(verify([]byte(body), signature, secret), verify([]byte(body+" "), signature, secret), verify([]byte(body), "", secret), verify([]byte(body), strings.Repeat("é", 32), secret))
}`,
	},
	"js": {
		[]string{"node"}, "verify.cjs", "",
		`
const { BODY, SIGNATURE, SECRET } = process.env;
console.log(verify(Buffer.from(BODY), SIGNATURE, SECRET), verify(Buffer.from(BODY + " "), SIGNATURE, SECRET), verify(Buffer.from(BODY), undefined, SECRET), verify(Buffer.from(BODY), "é".repeat(64), SECRET));`,
	},
	"python": {
		[]string{"python3"}, "verify.py", "",
		`
import os
body, signature, secret = os.environ["BODY"].encode(), os.environ["SIGNATURE"], os.environ["SECRET"]
print(*[str(x).lower() for x in (verify(body, signature, secret), verify(body + b" ", signature, secret), verify(body, None, secret), verify(body, "é\udcff" * 32, secret))])`,
	},
	"php": {
		[]string{"php"}, "verify.php", "<?php\n",
		`
[$body, $signature, $secret] = [getenv('BODY'), getenv('SIGNATURE'), getenv('SECRET')];
echo implode(' ', array_map(json_encode(...), [verify($body, $signature, $secret), verify("$body ", $signature, $secret), verify($body, null, $secret), verify($body, str_repeat('é', 32), $secret)]));`,
	},
	"ruby": {
		[]string{"ruby"}, "verify.rb", "",
		`
body, signature, secret = ENV.values_at("BODY", "SIGNATURE", "SECRET")
print [verify(body, signature, secret), verify(body + " ", signature, secret), verify(body, nil, secret), verify(body, "é" * 32, secret)].join(" ")`,
	},
}

// vector returns what the guide's example for receivers has on the line of a name.
func vector(t *testing.T, guide []byte, name string) string {
	t.Helper()
	match := regexp.MustCompile(`(?m)^` + name + ` {2,}(\S.*)$`).FindSubmatch(guide)
	if match == nil {
		t.Fatalf("the guide shows no %s", name)
	}
	return string(match[1])
}

// TestSignatureVector recomputes the example that receivers test their code with.
func TestSignatureVector(t *testing.T) {
	t.Parallel()
	guide, err := sources.ReadFile("verify-signatures.md")
	if err != nil {
		t.Fatal(err)
	}
	sum := func(key []byte, text string) []byte {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	secret, body := vector(t, guide, "secret"), vector(t, guide, "body")
	if want := hex.EncodeToString(sum([]byte(secret), body)); vector(t, guide, "X-Signature") != want {
		t.Errorf("X-Signature must be %s", want)
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	signed := sum(key, vector(t, guide, "webhook-id")+"."+vector(t, guide, "webhook-timestamp")+"."+body)
	if want := "v1," + base64.StdEncoding.EncodeToString(signed); vector(t, guide, "webhook-signature") != want {
		t.Errorf("webhook-signature must be %s", want)
	}
}

// What integrators copy has to work: each snippet is run, in the languages that this machine has.
func TestVerifySnippets(t *testing.T) {
	t.Parallel()
	source, err := sources.ReadFile("verify-signatures.md")
	if err != nil {
		t.Fatal(err)
	}
	body, secret, signature := vector(t, source, "body"), vector(t, source, "secret"), vector(t, source, "X-Signature")
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for language, d := range drivers {
		for name, text := range map[string][]byte{"guide": source, "README": readme} {
			match := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindSubmatch(text)
			if match == nil && name == "README" {
				continue // it has the most common ones
			}
			t.Run(language+" of the "+name, func(t *testing.T) {
				t.Parallel()
				if match == nil {
					t.Fatal("there is no snippet")
				}
				d.run(t, language, string(match[1]), body, signature, secret)
			})
		}
	}
}

// run runs a snippet on what verifies and on what does not: another body, no signature, and one that is not even ASCII.
func (d driver) run(t *testing.T, language, snippet, body, signature, secret string) {
	t.Helper()
	if _, err := exec.LookPath(d.command[0]); err != nil {
		t.Skipf("there is no %s here", d.command[0])
	}
	if language == "go" {
		if !strings.Contains(snippet, "import (") {
			snippet = "import (\n\t\"crypto/hmac\"\n\t\"crypto/sha256\"\n\t\"encoding/hex\"\n)\n" + snippet
		}
		snippet = strings.Replace(snippet, "import (", "import (\n\t\"fmt\"\n\t\"os\"\n\t\"strings\"", 1)
	}
	file := filepath.Join(t.TempDir(), d.file)
	if err := os.WriteFile(file, []byte(d.before+snippet+d.after), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), d.command[0], append(d.command[1:], file)...)
	command.Env = append(os.Environ(), "BODY="+body, "SIGNATURE="+signature, "SECRET="+secret)
	out, err := command.CombinedOutput()
	if got := strings.TrimSpace(string(out)); err != nil || got != fmt.Sprint(true, false, false, false) {
		t.Errorf("it gives %q (%v), not that the signature verifies, and no other does", got, err)
	}
}
