package routes_test

import (
	"fmt"
	"strings"
	"testing"
)

// URLs in headers are below the path of the Application URL, also in replayed responses.
func TestAddressesBelowAPath(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	for i, c := range []struct{ entered, path string }{
		{"https://example.com/crm/", "/crm"}, {"https://example.com/a/b", "/a/b"}, {"https://example.com", ""}, {"https://example.com/", ""},
	} {
		f.App.Settings().Meta.AppURL = c.entered
		if err := f.App.Save(f.App.Settings()); err != nil {
			t.Fatal(err)
		}
		created := client.Do("POST", contactsPath, `{"name":"Ada"}`, "Idempotency-Key", "1")
		put := client.Do("PUT", fmt.Sprint(contactsPath, "/by-external-id/", i), `{"name":"Ada"}`)
		for what, location := range map[string]string{"POST": created.Header.Get("Location"), "PUT": put.Header.Get("Location")} {
			if !strings.HasPrefix(location, c.path+contactsPath+"/") {
				t.Errorf("with %s the Location of %s is %q", c.entered, what, location)
			}
		}
		if link := client.Do("GET", contactsPath+"?limit=1", "").Header.Get("Link"); !strings.HasPrefix(link, "<"+c.path+contactsPath+"?") {
			t.Errorf("with %s the Link is %q", c.entered, link)
		}
	}
}
