package docs

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"contactbase/clients"
	"contactbase/docs/reference"
)

// Each operation, error code and section of a guide can be found, and leads to where it is.
func TestSearchIndex(t *testing.T) {
	t.Parallel()
	var sections []section
	if err := json.Unmarshal(SearchIndex(), &sections); err != nil {
		t.Fatal(err)
	}
	pages, found := map[string]bool{}, map[string]bool{}
	for _, s := range sections {
		target, err := url.Parse(s.Address)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(strings.TrimPrefix(target.Path, "docs"), "/")
		pages[name], found[s.Heading] = true, true
		page, isPage := Render(name, clients.NamesFor(""))
		if !isPage || target.Fragment != "" && !strings.Contains(string(page), `id="`+target.Fragment+`"`) {
			t.Errorf("%q leads nowhere", s.Address)
		}
	}
	for name := range rendered() {
		if !pages[name] && name != "reference" {
			t.Errorf("the page %q cannot be found", name)
		}
	}
	for _, group := range reference.Groups() {
		for _, operation := range group.Operations {
			isIt := func(s section) bool {
				return s.Heading == operation.Summary && s.Path == operation.Method+" "+operation.Path && strings.HasSuffix(s.Address, "#"+operation.ID)
			}
			if !slices.ContainsFunc(sections, isIt) {
				t.Errorf("the operation %s cannot be found", operation.ID)
			}
		}
	}
	for _, code := range reference.Codes() {
		if !found[code] {
			t.Errorf("the error code %s cannot be found: is it in the guide?", code)
		}
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	if text := plain("<p>one &lt;b&gt;<br>\n two</p>"); text != "one <b> two" {
		t.Errorf("the text is %q", text)
	}
}

// searches are what people type, each with the pages of which one has to be among the first three results.
var searches = map[string]string{
	"pagination":                      "docs docs/api-contacts",
	"next page":                       "docs docs/api-contacts",
	"invite member":                   "docs/members docs/using-the-portal",
	"invite a colleague":              "docs/members docs/using-the-portal",
	"smtp":                            "docs/members docs/notices",
	"api key scopes":                  "docs/authentication",
	"permissions of a key":            "docs/authentication",
	"gdpr":                            "docs/privacy",
	"delete personal data":            "docs/privacy",
	"ip allowlist":                    "docs/delivery docs/proxies docs/settings",
	"signature mismatch":              "docs/troubleshooting docs/verify-signatures",
	"sandbox test mode":               "docs/troubleshooting docs/events docs/commands docs/delivery",
	"ngrok":                           "docs/events",
	"duplicate events":                "docs/verify-signatures docs/delivery",
	"webhook ip addresses":            "docs/delivery",
	"zapier":                          "docs/inbound",
	"CORS error":                      "docs/authentication",
	"date format":                     "docs",
	"filter by date":                  "docs docs/api-contacts",
	"forgot admin password":           "docs/self-hosting",
	"white label":                     "docs/portal",
	"disk full":                       "docs/monitoring",
	"login link expired":              "docs/using-the-portal docs/portal-links",
	"upsert":                          "docs/api-contacts",
	"back up database":                "docs/install docs/upgrading",
	"how to verify signature":         "docs/verify-signatures",
	"verify webhook in python":        "docs/verify-signatures docs/clients",
	"sync contacts to my database":    "docs/sync",
	"replicate contacts to postgres":  "docs/sync",
	"webhook not working":             "docs/troubleshooting",
	"why is my webhook failing":       "docs/troubleshooting docs/delivery",
	"sso":                             "docs/members",
	"single sign-on":                  "docs/members",
	"rate limit":                      "docs/errors-and-limits",
	"429":                             "docs/errors-and-limits docs/delivery",
	"too many requests":               "docs/errors-and-limits",
	"retry policy":                    "docs/delivery",
	"resend a webhook":                "docs/delivery docs/troubleshooting docs/api-admin",
	"rotate secret":                   "docs/verify-signatures docs/api-admin",
	"rotate api key":                  "docs/authentication docs/api-admin",
	"import csv":                      "docs/import",
	"excel upload":                    "docs/import",
	"export all contacts":             "docs/import docs/api-admin",
	"merge duplicates":                "docs/duplicates docs/api-contacts",
	"custom fields":                   "docs docs/api-contacts docs/inbound docs/import",
	"filter webhooks by event":        "docs/delivery docs/event-catalog",
	"https certificate":               "docs/self-hosting docs/proxies docs/install",
	"docker":                          "docs/install",
	"backup and restore":              "docs/self-hosting docs/growing",
	"high availability":               "docs/growing docs/failover-model",
	"prometheus metrics":              "docs/monitoring",
	"who changed a contact":           "docs/audit",
	"typeform":                        "docs/senders docs/inbound",
	"chatgpt":                         "docs/mcp",
	"idempotency key":                 "docs/idempotency",
	"install python library":          "docs/clients",
	"upgrade to a new version":        "docs/upgrading",
	"server-sent events":              "docs/events",
	"embed the portal for a customer": "docs/portal-links docs/portal",
	"change the port":                 "docs/self-hosting docs/settings docs/install",
	"how much memory":                 "docs/performance docs/comparison",
	"lets encrypt":                    "docs/self-hosting docs/install",
	"load balancer":                   "docs/proxies",
	"replay attack":                   "docs/verify-signatures",
	"duplicate requests":              "docs/idempotency",
	"debug logging":                   "docs/monitoring docs/settings",
	"read only key":                   "docs/authentication",
	"delete old events":               "docs/events docs/settings docs/privacy docs/delivery docs/self-hosting",
	"test webhook locally":            "docs/quick-start docs/commands docs/delivery docs/troubleshooting docs/events",
	"javascript hooks":                "docs/extending",
	"iframe":                          "docs/portal-links docs/portal",
	"forgot superuser password":       "docs/self-hosting",
}

// The search finds what people look for in their own words. It runs as in a browser.
func TestSearches(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no Node.js here")
	}
	module, err := filepath.Abs("site/assets/search.js")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	index, file := filepath.Join(folder, "search.json"), filepath.Join(folder, "search.mjs")
	source, err := os.ReadFile(module)
	if err != nil {
		t.Fatal(err)
	}
	queries, err := json.Marshal(slices.Concat(slices.Sorted(maps.Keys(searches)), []string{"zebra crossing"}))
	if err != nil {
		t.Fatal(err)
	}
	program := string(source) + `
import { readFileSync } from "node:fs";
const sections = JSON.parse(readFileSync(process.argv[2], "utf8"));
console.log(JSON.stringify(Object.fromEntries(JSON.parse(process.argv[3]).map((query) => [query, rank(sections, query).slice(0, 3).map(({ address }) => address)]))));`
	for path, content := range map[string][]byte{index: SearchIndex(), file: []byte(program)} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.CommandContext(t.Context(), "node", file, index, string(queries)).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var found map[string][]string
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatal(err)
	}
	for query, pages := range searches {
		isThere := func(address string) bool {
			page, _, _ := strings.Cut(address, "#")
			return slices.Contains(strings.Fields(pages), page)
		}
		if !slices.ContainsFunc(found[query], isThere) {
			t.Errorf("%q finds %q, not %s", query, found[query], pages)
		}
	}
	if len(found["zebra crossing"]) > 0 {
		t.Errorf("what is not there is found: %q", found["zebra crossing"])
	}
}
