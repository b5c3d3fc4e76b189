package e2e

import (
	"database/sql"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"contactbase/internal/testenv"
)

// After signing in, an admin sees the overview with activity and problems, which links to where problems are fixed.
func TestBrowserOverview(t *testing.T) {
	t.Parallel()
	i, tenant, key := newKey(t)
	r := newReceiver(t)
	failing := i.one("webhook", "create", tenant, r.URL)
	r.set(str(t, failing, "secret"), func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	s := i.serve()
	b := s.newBrowser()

	b.open("/_/")
	b.fill("Email", superuserEmail)
	b.fill("Password", superuserPassword)
	b.click("Login")
	b.wait("the overview", `document.querySelector(".breadcrumbs [aria-current]")?.textContent === "Overview"`)
	b.sees("Nothing needs your attention.")
	b.sees("No contacts yet")
	active := evaluate[[]string](b, `[...document.querySelectorAll(".app-main-nav .header-link")].map((el) => el.innerText.trim() + (el.classList.contains("active") ? "!" : ""))`)
	if len(active) != 4 || active[0] != "Integrations!" || active[3] != "Settings" {
		t.Errorf("the header has %q", active)
	}
	b.wait("the last hour, where nothing happened before", `document.querySelector('.integrations-periods [aria-pressed="true"]')?.textContent === "Last hour"`)
	b.wait("the title", `document.title === "Overview · Contactbase"`)
	b.look("overview-empty")

	c := s.client(key)
	c.do("POST", contactsPath, `{"name":"Ada Lovelace"}`)
	c.do("POST", contactsPath, `{"name":"Grace Hopper"}`)
	c.do("GET", contactsPath+"/nobody", "")
	b.sees("1 webhook is failing")
	// retries follow after 5 s
	b.matches(`Acme · ` + regexp.QuoteMeta(r.URL) + `: \d+ of \d+ attempts failed in the last 24 hours`)
	b.wait("the pictures", `document.querySelectorAll(".integrations-chart svg rect.plain").length >= 1`)
	b.sees("2 created, 0 updated, 0 deleted")
	b.click("Events as a table")
	b.wait("the table", `[...document.querySelectorAll(".integrations-chart-table tbody tr")].filter((el) => el.cells.length === 4).reduce((sum, el) => sum + Number(el.cells[1].innerText), 0) === 2`)
	b.look("overview")
	b.click("Last 7 days")
	b.wait("28 bars", `document.querySelector(".integrations-chart svg").querySelectorAll("g").length === 28`)
	b.sees("2 created, 0 updated, 0 deleted")
	b.click("Show deliveries")
	b.sees("500 Internal Server Error")

	b.run(`[...document.querySelectorAll(".app-main-nav .header-link")].find((el) => el.innerText.trim() === "Settings").click()`)
	b.wait("the settings", `document.querySelector(".app-main-nav .header-link.active")?.innerText.trim() === "Settings"`)
}

// What is wrong alike with webhooks of a tenant is one line, which names the tenant.
func TestBrowserProblemsAreGrouped(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "makes ten webhooks fail only to look at one line")
	i := newInstallation(t).superuser()
	for _, name := range []string{"Acme", "Umbrella"} {
		tenant := str(t, i.one("tenant", "create", name), "id")
		for n := range 5 {
			i.must("webhook", "create", tenant, "https://example.com/"+name, "--name", fmt.Sprint(name, " ", n))
		}
	}
	i.must("webhook", "create", "Umbrella", "https://example.com/healthy", "--name", "Enabled")
	s := i.serve()
	admin := s.signIn()
	for _, record := range admin.do("GET", "/api/collections/webhooks/records?perPage=50", "").json()["items"].([]any) {
		if record := record.(map[string]any); record["name"] != "Enabled" {
			admin.do("PATCH", "/api/collections/webhooks/records/"+str(t, record, "id"), `{"disabled":true}`)
		}
	}
	b := s.newBrowser().signIn(s)
	b.integrations("", "Overview")
	b.sees("10 webhooks are disabled · Show all")
	b.sees("10 disabled")
	for _, name := range []string{"Acme", "Umbrella"} {
		b.matches(name + ` · (` + name + ` \d(, )?){3} and 2 more: `)
	}
	b.look("overview-grouped")
	b.run(`[...document.querySelectorAll(".integrations-problems li li")].find((el) => el.innerText.includes("Umbrella")).querySelector("a").click()`)
	rows := func(what string, n int) {
		t.Helper()
		b.wait(what, fmt.Sprintf(`document.querySelectorAll(".integrations-table tbody tr[data-id]").length === %d`, n))
	}
	rows("the disabled webhooks of the tenant", 5)
	b.choose("Health", "All")
	rows("all of them", 6)
	b.fill("Search by name or URL", "healthy")
	rows("one of them", 1)
	b.says("Enabled", "Health", "No traffic")
	b.says("Enabled", "Error rate", "–")
	b.wait("the filters in the address", `location.hash.includes("search=healthy") && location.hash.includes("tenant=")`)
	b.fill("Search by name or URL", "")
	b.run(`[...document.querySelectorAll(".integrations-sort")].find((el) => el.innerText.includes("Receiver")).click()`)
	b.wait("the last name first", `document.querySelector("tbody tr[data-id] strong").innerText === "Umbrella 4" && location.hash.includes("sort=-name")`)
	b.run(`for (const n of [0, 1]) document.querySelectorAll(".integrations-select input")[n].click()`)
	b.sees("2 selected")
	b.look("webhooks-selected")
	b.click("Enable")
	b.says("Umbrella 4", "Health", "No traffic")
	b.wait("no selection", `!document.querySelector(".integrations-selection")`)
	b.run(`location.reload()`)
	b.wait("the same order after a reload", `document.querySelector("tbody tr[data-id] strong")?.innerText === "Umbrella 4"`)
}

// execute runs a statement on the database, with the server not running.
func (i *installation) execute(statement string) {
	i.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(i.data, "data.db"))
	if err != nil {
		i.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(statement); err != nil {
		i.t.Fatal(err)
	}
}

// A chart has round grid lines and says what it cuts off. Pointer and arrow keys show the values of a step at once.
func TestBrowserCharts(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "looks at one chart with the pointer and the keyboard; the overview has charts, too")
	i, tenant := newTenant(t)
	webhook := str(t, i.one("webhook", "create", tenant, "https://example.com/hook"), "id")
	var rows []string
	for hour := range 23 {
		delivered := 30 + hour
		if hour == 12 {
			delivered = 7_000
		}
		at := time.Now().UTC().Add(-time.Duration(hour) * time.Hour).Format("2006-01-02 15")
		rows = append(rows, fmt.Sprintf("('webhook', 3600, '%s', '%s', %d, '[0, 0, 0, 90, 0, 0, 10]')", at, webhook, delivered))
	}
	i.execute("INSERT INTO _activity (kind, grain, start, of, done, answers) VALUES " + strings.Join(rows, ", "))
	s := i.serve()
	b := s.newBrowser().signIn(s)
	b.integrations("/webhooks", "Webhooks")
	b.says("example.com", "Health", "Healthy")
	b.says("example.com", "Error rate", "0%")
	b.webhook(dashboardPages, webhook)
	b.sees("Last 24 hours: 7,901 delivered, 0 retried, 0 failed · median (p50) 3 ms, p95 8 ms")
	b.run(`document.querySelector(".integrations-folded-charts > summary").click()`)
	b.matches(`0 20 40 60 .*Cut off to keep the rest readable: 7,000 at \d\d:00\.`)
	b.look("charts")

	const tip = `document.querySelector(".integrations-chart-tip")`
	const plot = `document.querySelector(".integrations-chart-plot")`
	if evaluate[bool](b, tip+` !== null`) {
		t.Error("a tooltip is shown before anybody points")
	}
	b.run(plot + `.focus()`)
	b.wait("the last step", tip+`?.innerText.includes("Delivered: 30")`)
	b.press(kb.ArrowLeft)
	b.wait("the step before", tip+`?.innerText.includes("Delivered: 31") && `+plot+`.getAttribute("aria-valuetext").includes("Delivered 31")`)
	b.press(kb.Home)
	b.wait("the first step", tip+`?.innerText.includes("Delivered: 0")`)
	b.press(tabKey)
	b.wait("no tooltip", `!`+tip)
	point := evaluate[[]float64](b, `(() => { const box = `+plot+`.getBoundingClientRect(); return [box.left + box.width * 22.5 / 24, box.top + 20] })()`)
	b.do(chromedp.MouseClickXY(point[0], point[1]))
	b.wait("the step at the pointer", tip+`?.innerText.includes("Delivered: 31")`)
}
