package routes_test

import (
	"net/url"
	"strings"
	"testing"
)

// The rest of the path is the external ID, decoded once, whatever is in it. Other methods are 405.
func TestExternalIDsInThePath(t *testing.T) {
	t.Parallel()
	client, _ := newAPI(t)
	for rest, id := range map[string]string{
		"plain":             "plain",
		"shop%2F999":        "shop/999",
		"shop/1000":         "shop/1000",
		"shop%252F999":      "shop%2F999",
		"a//b":              "a//b",
		"/a":                "/a",
		"%2Fb":              "/b",
		"a/":                "a/",
		"c%2F":              "c/",
		"../contacts":       "../contacts",
		"..":                "..",
		"%2e":               ".",
		"a/./b/../../c":     "a/./b/../../c",
		"gid:%2F%2Fx%2F1":   "gid://x/1",
		"gid://x/2":         "gid://x/2",
		"a+b%20c&d;e=f@g":   "a+b c&d;e=f@g",
		"by-external-id/x":  "by-external-id/x",
		"Zo%C3%AB/Zoë":      "Zoë/Zoë",
		"%3Fq=1":            "?q=1",
		"%23/%25/%5C":       `#/%/\`,
		"x/merge":           "x/merge",
		"%2E%2E%2F..%2Fx/y": "../../x/y",
	} {
		created := client.Do("PUT", upsertPath+rest, `{"name":"Ada"}`)
		if created.Status != 201 || created.Data()["externalId"] != id {
			t.Errorf("PUT %s gives %d %s, not a contact with %q", rest, created.Status, created.Body, id)
		}
		if again := client.Do("PUT", upsertPath+url.PathEscape(id), `{"company":"Engines"}`); !strings.HasPrefix(id, ".") && again.Status != 200 {
			t.Errorf("the second PUT of %q gives %d %s", id, again.Status, again.Body)
		}
		for _, method := range []string{"GET", "POST", "PATCH", "DELETE"} {
			if got := client.Do(method, upsertPath+rest, `{"name":"Ada"}`); got.Status != 405 || got.Header.Get("Allow") != "PUT" {
				t.Errorf("%s %s gives %d %s", method, rest, got.Status, got.Body)
			}
		}
	}
	for _, path := range []string{
		upsertPath, "/api/ext/v1//contacts/by-external-id/x", "/api/ext/v1/./contacts/by-external-id/x",
		"/x/../api/ext/v1/contacts/by-external-id/x", "/api/ext/v1/contacts%2Fby-external-id/x",
	} {
		if got := client.Do("PUT", path, `{"name":"Ada"}`); got.Status != 404 {
			t.Errorf("PUT %s gives %d %s", path, got.Status, got.Body)
		}
	}
	if got := client.Do("PUT", upsertPath+"a/%ff", `{"name":"Ada"}`); got.Status != 400 || got.Code() != "invalid_parameter" {
		t.Errorf("an ID that is not UTF-8 gives %d %s", got.Status, got.Body)
	}
}
