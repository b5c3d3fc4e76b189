package docs

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"html"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

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

// drivers run the functions for Standard Webhooks: on a valid request, one during a rotation, another body, an old
// request, none of the headers, and a signature that is not even ASCII.
var drivers = map[string]driver{
	"go": {
		[]string{"go", "run"}, "verify.go", "package main\n",
		`
func main() {
	env := os.Getenv
	check := func(body, timestamp, signatures string) bool {
		return verify([]byte(body), env("ID"), timestamp, signatures, env("SECRET"))
	}
	fmt.Println(check(env("BODY"), env("NOW"), env("SIGNATURE")), check(env("BODY"), env("NOW"), "v1,eHk= "+env("SIGNATURE")),
		check(env("BODY")+" ", env("NOW"), env("SIGNATURE")), check(env("BODY"), env("OLD"), env("OLD_SIGNATURE")),
		check(env("BODY"), "", ""), check(env("BODY"), env("NOW"), "v1,é"))
}`,
	},
	"js": {
		[]string{"node"}, "verify.cjs", "",
		`
const { BODY, ID, NOW, SIGNATURE, OLD, OLD_SIGNATURE, SECRET } = process.env;
const check = (body, timestamp, signatures) => verify(Buffer.from(body), ID, timestamp, signatures, SECRET);
console.log(check(BODY, NOW, SIGNATURE), check(BODY, NOW, "v1,eHk= " + SIGNATURE), check(BODY + " ", NOW, SIGNATURE), check(BODY, OLD, OLD_SIGNATURE), check(BODY), check(BODY, NOW, "v1,é"));`,
	},
	"python": {
		[]string{"python3"}, "verify.py", "",
		`
import os
env = os.environ
check = lambda body, timestamp, signatures: str(verify(body, env["ID"], timestamp, signatures, env["SECRET"])).lower()
body, now, signature = env["BODY"].encode(), env["NOW"], env["SIGNATURE"]
print(check(body, now, signature), check(body, now, "v1,eHk= " + signature), check(body + b" ", now, signature), check(body, env["OLD"], env["OLD_SIGNATURE"]), check(body, None, None), check(body, now, "v1,é\udcff"))`,
	},
	"php": {
		[]string{"php"}, "verify.php", "<?php\n",
		`
$check = fn($body, $timestamp, $signatures) => json_encode(verify($body, getenv('ID'), $timestamp, $signatures, getenv('SECRET')));
[$body, $now, $signature] = [getenv('BODY'), getenv('NOW'), getenv('SIGNATURE')];
echo implode(' ', [$check($body, $now, $signature), $check($body, $now, "v1,eHk= $signature"), $check("$body ", $now, $signature), $check($body, getenv('OLD'), getenv('OLD_SIGNATURE')), $check($body, null, null), $check($body, $now, 'v1,é')]);`,
	},
	"ruby": {
		[]string{"ruby"}, "verify.rb", "",
		`
check = ->(body, timestamp, signatures) { verify(body, ENV["ID"], timestamp, signatures, ENV["SECRET"]) }
body, now, signature = ENV.values_at("BODY", "NOW", "SIGNATURE")
print [check[body, now, signature], check[body, now, "v1,eHk= " + signature], check[body + " ", now, signature], check[body, ENV["OLD"], ENV["OLD_SIGNATURE"]], check[body, nil, nil], check[body, now, "v1,é"]].join(" ")`,
	},
}

// weakDrivers run the functions for X-Signature: on a valid request, another body, no signature, and one that is not
// even ASCII.
var weakDrivers = map[string]driver{
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

// What integrators copy has to work: each snippet is run, in the languages that this machine has. Those for Standard
// Webhooks come first.
func TestVerifySnippets(t *testing.T) {
	t.Parallel()
	guide := readFile(t, "verify-signatures.md")
	standard, weak, _ := strings.Cut(guide, "\n## X-Signature\n")
	body, secret, id := vector(t, []byte(guide), "body"), vector(t, []byte(guide), "secret"), vector(t, []byte(guide), "webhook-id")
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		t.Fatal(err)
	}
	sign := func(at time.Time) (timestamp, signature string) {
		timestamp = fmt.Sprint(at.Unix())
		mac := hmac.New(sha256.New, key)
		_, _ = io.WriteString(mac, id+"."+timestamp+"."+body)
		return timestamp, "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	now, signature := sign(time.Now())
	old, oldSignature := sign(time.Now().Add(-6 * time.Minute))
	for _, kind := range []struct {
		name, text string
		drivers    map[string]driver
		env        []string
		want       string
	}{
		{"Standard Webhooks", standard, drivers, []string{
			"ID=" + id, "NOW=" + now, "SIGNATURE=" + signature, "OLD=" + old, "OLD_SIGNATURE=" + oldSignature,
		}, "true true false false false false"},
		{"X-Signature", weak, weakDrivers, []string{"SIGNATURE=" + vector(t, []byte(guide), "X-Signature")}, "true false false false"},
	} {
		for language, d := range kind.drivers {
			t.Run(language+" for "+kind.name, func(t *testing.T) {
				t.Parallel()
				snippet := regexp.MustCompile("(?s)```" + language + "\n(.*?)```").FindStringSubmatch(kind.text)
				if snippet == nil {
					t.Fatal("there is no snippet")
				}
				if got := d.run(t, language, snippet[1], append(kind.env, "BODY="+body, "SECRET="+secret)); got != kind.want {
					t.Errorf("it gives %s, not %s", got, kind.want)
				}
			})
		}
	}
}

// run runs a snippet, and returns what its driver prints.
func (d driver) run(t *testing.T, language, snippet string, env []string) string {
	t.Helper()
	if _, err := exec.LookPath(d.command[0]); err != nil {
		t.Skipf("there is no %s here", d.command[0])
	}
	if language == "go" {
		for _, name := range []string{"fmt", "os", "strings"} {
			if quoted := "\"" + name + "\"\n"; !strings.Contains(snippet, quoted) && strings.Contains(d.after, name+".") {
				snippet = strings.Replace(snippet, "import (\n", "import (\n\t"+quoted, 1)
			}
		}
	}
	file := filepath.Join(t.TempDir(), d.file)
	if err := os.WriteFile(file, []byte(d.before+snippet+d.after), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), d.command[0], append(d.command[1:], file)...)
	command.Env = append(os.Environ(), env...)
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// Code is coloured without changing it, and languages that follow each other become tabs.
func TestColoured(t *testing.T) {
	t.Parallel()
	for language, code := range map[string]string{
		"sh": "export A='x\ny' # <why>\n\tcurl \"$A\"#no", "go": "if a := `b`; true { // c\n}", "json": `{"a":[1,null,"\"<"]}`,
		"python": "\"\"\"a\nb\"\"\" # c\nfor", "text": "if \"a\" # b", "yaml": "a: true # b",
	} {
		shown := string(highlight(language, code))
		if text := html.UnescapeString(tags.ReplaceAllString(shown, "")); text != code {
			t.Errorf("%s: %q becomes %q", language, code, text)
		}
		if isPlain := language == "text"; strings.Contains(shown, "<span") == isPlain {
			t.Errorf("%s: %s", language, shown)
		}
	}
	const block = "<pre><code class=\"language-%s\">a</code></pre>\n"
	tabs := coloured(fmt.Sprintf(block+block+"<p>x</p>"+block+block+block, "go", "php", "go", "sh", "ts"))
	if strings.Count(tabs, `class="samples"`) != 1 || strings.Count(tabs, "<figure") != 2 || strings.Count(tabs, "<pre") != 5 {
		t.Errorf("it becomes %s", tabs)
	}
}

// The page for a missing address leads to pages that exist.
func TestMissing(t *testing.T) {
	t.Parallel()
	page := string(Missing("./../"))
	for _, want := range []string{`<a href="./../docs">`, `href="./../docs/quick-start"`, `id="search"`, "<title>Page not found"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}
