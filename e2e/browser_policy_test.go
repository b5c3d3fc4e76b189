package e2e

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

func TestDashboardPolicy(t *testing.T) {
	t.Parallel()
	s := newInstallation(t).serve()
	for _, path := range []string{"/_/", "/_/index.html", "/_/extensions.js", "/_/extensions/contactbase/integrations.css"} {
		answer := s.client("").do(http.MethodGet, path, "")
		policies := answer.header.Values("Content-Security-Policy")
		if len(policies) != 1 || !strings.Contains(policies[0], "img-src 'self' data: blob:;") || !strings.HasPrefix(policies[0], "default-src 'self';") {
			t.Errorf("%s has the policies %q", path, policies)
		}
	}
}

// An image in a contact does not tell its sender that someone views it.
func TestBrowserForeignImages(t *testing.T) {
	t.Parallel()
	i, _, key := newKey(t)
	s := i.serve()
	stranger := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the stranger sees %s %s", r.Method, r.URL)
	}))
	t.Cleanup(stranger.Close)

	b := s.newBrowser().signIn(s)
	admin := s.signIn()
	collection := admin.expect(http.StatusOK, http.MethodGet, "/api/collections/contacts", "").json()
	collection["fields"] = append(collection["fields"].([]any), map[string]any{"name": "bio", "type": "editor"})
	changed, err := json.Marshal(collection)
	if err != nil {
		t.Fatal(err)
	}
	admin.expect(http.StatusOK, http.MethodPatch, "/api/collections/contacts", string(changed))
	const dot = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAAC"
	bio, err := json.Marshal(`<p>Hello</p><img src="` + dot + `"><img src="` + stranger.URL + `/pixel.png">`)
	if err != nil {
		t.Fatal(err)
	}
	created := s.client(key).expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Mallory","bio":`+string(bio)+`}`)

	b.forgiven = stranger.URL // the policy's refusal
	b.open("/_/#/collections?collection=contacts&record=" + str(t, created.json()["data"].(map[string]any), "id"))
	const images = `[...document.querySelector("iframe")?.contentDocument?.querySelectorAll("img") || []]`
	b.wait("both images, loaded or refused", images+`.length === 2 && `+images+`.every((image) => image.complete)`)
	if widths := evaluate[[]int](b, images+`.map((image) => image.naturalWidth)`); !slices.Equal(widths, []int{1, 0}) {
		t.Errorf("the images that come along and from elsewhere are %v wide", widths)
	}
}
