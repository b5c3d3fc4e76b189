package e2e

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// maxScreenshot is how large a picture of the documentation may be, because the program embeds it.
const maxScreenshot = 100 << 10

// The pictures of README and guides are those of the demo, in light and dark colours.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("CONTACTBASE_E2E_SCREENSHOTS")
	if folder == "" {
		t.Skip("task screenshots runs it")
	}
	address := freeAddress(t)
	demo := exec.Command(binary(t), "demo", "--http", address)
	demo.Dir, demo.Env = t.TempDir(), testEnv("TMPDIR="+t.TempDir())
	s := &server{process: launch(t, demo), base: "http://" + address}
	s.await("received and verified: contact.created 山田 太郎")
	printed := s.output.String()
	key := regexp.MustCompile(`cmk_[0-9A-Za-z]{36}`).FindString(printed)
	password := regexp.MustCompile(`admin@example\.com, password ([^)]+)\)`).FindStringSubmatch(printed)[1]
	webhook := fillDemo(t, s, key, password)

	b := s.newBrowser().signInAs(s, "admin@example.com", password)
	b.forgiven = "Failed to load resource"
	b.resize(1280, 800, "light")
	b.integrations("/webhooks/"+webhook, "CRM sync")
	b.wait("the deliveries", `document.querySelectorAll(".integrations-table tbody tr").length > 4 && !document.querySelector(".page").innerText.includes("no attempts")`)
	b.picture(folder, "deliveries")
	b.integrations("/webhooks", "Webhooks")
	b.wait("the webhooks", `document.querySelectorAll(".integrations-table tbody tr").length > 1`)
	b.picture(folder, "webhooks")
	b.open("/portal/")
	b.fill("Email", "ada@example.com")
	b.fill("Password", password)
	b.click("Sign in")
	b.wait("the portal", `document.querySelector(".integrations-table tbody tr, .integrations-content")`)
	b.picture(folder, "portal")
}

// fillDemo adds a webhook whose receiver fails for a while, with deliveries, and returns its ID.
func fillDemo(t *testing.T, s *server, key, password string) string {
	t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		switch {
		case bytes.Contains(body, []byte("Grace")):
			http.Error(w, `{"error":"the CRM is in maintenance"}`, http.StatusServiceUnavailable)
		case bytes.Contains(body, []byte("Alan")):
			http.Error(w, "no such route", http.StatusNotFound)
		}
	}))
	t.Cleanup(receiver.Close)
	admin := s.client("")
	token := str(t, admin.expect(http.StatusOK, http.MethodPost, "/api/collections/_superusers/auth-with-password",
		fmt.Sprintf(`{"identity":"admin@example.com","password":%q}`, password)).json(), "token")
	admin.header["Authorization"] = token
	tenants := admin.expect(http.StatusOK, http.MethodGet, "/api/collections/tenants/records", "").json()
	tenant := str(t, tenants["items"].([]any)[0].(map[string]any), "id")
	webhook := str(t, admin.expect(http.StatusOK, http.MethodPost, "/api/collections/webhooks/records",
		fmt.Sprintf(`{"tenant":%q,"name":"CRM sync","url":%q}`, tenant, receiver.URL+"/contacts")).json(), "id")
	integrator := s.client(key)
	for _, name := range []string{"Katherine Johnson", "Alan Turing", "Hedy Lamarr", "Grace Hopper", "Mary Jackson", "Dorothy Vaughan", "Joan Clarke", "Radia Perlman"} {
		id := str(t, integrator.expect(http.StatusCreated, http.MethodPost, contactsPath, fmt.Sprintf(`{"name":%q}`, name)).data(), "id")
		if strings.HasPrefix(name, "H") || strings.HasPrefix(name, "M") {
			integrator.expect(http.StatusOK, http.MethodPatch, contactsPath+"/"+id, `{"company":"Analytical Engines"}`)
		}
	}
	return webhook
}

// picture saves a page in both themes, as small as a page of few colours can be.
func (b *browser) picture(folder, name string) {
	b.t.Helper()
	for _, theme := range []string{"light", "dark"} {
		b.resize(1280, 800, theme)
		taken, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			b.t.Fatal(err)
		}
		pixels, err := png.Decode(bytes.NewReader(taken))
		if err != nil {
			b.t.Fatal(err)
		}
		var out bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, fewColors(pixels)); err != nil {
			b.t.Fatal(err)
		}
		if out.Len() > maxScreenshot {
			b.t.Errorf("%s in %s colours has %d bytes", name, theme, out.Len())
		}
		if err := os.WriteFile(filepath.Join(folder, name+"-"+theme+".png"), out.Bytes(), 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// fewColors returns a picture with its 256 most frequent colours.
func fewColors(from image.Image) image.Image {
	counts := map[color.RGBA]int{}
	bounds := from.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++
		}
	}
	frequent := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	var palette color.Palette
	for _, c := range frequent[:min(len(frequent), 256)] {
		palette = append(palette, c)
	}
	to := image.NewPaletted(bounds, palette)
	draw.Draw(to, bounds, from, bounds.Min, draw.Src)
	return to
}
