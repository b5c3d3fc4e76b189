package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"contactbase/internal/testenv"
)

// resize sets the size and the theme of a page.
func (b *browser) resize(width, height int64, theme string) {
	b.t.Helper()
	tell(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: width, Height: height, DeviceScaleFactor: 1, Mobile: width < 600,
	})
	tell(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"},
	}})
	// the dashboard disables its animations during the change
	b.wait("the theme", `matchMedia("(prefers-color-scheme: `+theme+`)").matches && (() => {
		const { dataset, style } = document.documentElement;
		return (!dataset.colorScheme || dataset.colorScheme === "`+theme+`" && !style.getPropertyValue("--animationSpeed")) &&
			document.getAnimations().every(({ playState }) => playState !== "running");
	})()`)
}

// appearance is a size and a theme of a page.
type appearance struct {
	name          string
	width, height int64
	theme         string
}

// looks are the appearances of each page. If all tests run, they include every size and every theme.
// CONTACTBASE_E2E_LOOKS=all tests all combinations, which takes twice as long.
func looks() []appearance {
	wideLight := appearance{"wide-light", 1280, 900, "light"}
	narrowDark := appearance{"narrow-dark", 390, 844, "dark"}
	switch {
	case os.Getenv("CONTACTBASE_E2E_LOOKS") == "all":
		return []appearance{
			narrowDark, {"narrow-light", 390, 844, "light"}, {"wide-dark", 1280, 900, "dark"}, wideLight,
		}
	case testenv.All():
		return []appearance{narrowDark, wideLight}
	}
	return []appearance{wideLight}
}

// look takes a screenshot of the page in each appearance, and checks that the page is usable.
func (b *browser) look(name string) {
	b.t.Helper()
	for _, l := range looks() { // the last one is that of the other steps
		b.resize(l.width, l.height, l.theme)
		b.shot(name + "-" + l.name)
		b.accessible(name + ", " + l.name)
		b.fits(name + ", " + l.name)
	}
}

// fits fails the test if a part of the page is unreachable to the right.
func (b *browser) fits(name string) {
	b.t.Helper()
	wide := evaluate[[]string](b, `(() => {
		const width = visualViewport.width * visualViewport.scale;
		if (document.documentElement.scrollWidth <= width + 1) return [];
		return [...document.body.querySelectorAll("*")].filter((el) => el.getBoundingClientRect().right > width + 1)
			.slice(0, 5).map((el) => el.outerHTML.slice(0, 150));
	})()`)
	if len(wide) > 0 {
		b.t.Errorf("%s is wider than the screen: %s", name, strings.Join(wide, "\n    "))
	}
}

// shot saves a screenshot in a directory that is not committed. Unless all tests run, it does so only for failed
// tests.
func (b *browser) shot(name string) {
	if !testenv.All() && !b.t.Failed() {
		return
	}
	picture, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Logf("no picture of %s: %v", name, err)
		return
	}
	if err := os.MkdirAll("screenshots", 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("screenshots", name+".png"), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// axe is the accessibility checker from npm.
var axe = sync.OnceValues(func() (string, error) {
	source, err := os.ReadFile(filepath.Join("axe", "node_modules", "axe-core", "axe.min.js"))
	if err != nil {
		return "", fmt.Errorf("the accessibility is not checked, which needs `npm ci` in e2e/axe: %w", err)
	}
	return string(source), nil
})

// accessible fails the test where axe finds a serious violation on the page.
func (b *browser) accessible(name string) {
	b.t.Helper()
	source, err := axe()
	if err != nil {
		if os.Getenv("CI") == "true" {
			b.t.Fatal(err)
		}
		b.t.Log(err)
		return
	}
	b.run("window.axe || (() => {" + source + "})()")
	// the header and the footer belong to PocketBase
	found := evaluate[[]string](b, `axe.run({ exclude: [[".app-header"], [".page-footer"], [".toasts-container"]] }, { resultTypes: ["violations"] }).then(({ violations }) =>
		violations.filter(({ impact }) => impact === "serious" || impact === "critical").map(({ id, help, nodes }) =>
			id + ": " + help + "\n" + nodes.map((node) => "    " + node.html.slice(0, 200) + "\n      " + node.failureSummary.replaceAll("\n", " ")).join("\n")))`)
	for _, violation := range found {
		b.t.Errorf("%s: %s", name, violation)
	}
}
