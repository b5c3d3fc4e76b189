package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	protocol "github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser is a window of Chromium with a profile of its own. It counts script errors and violations of the content
// security policy, and records the network traffic.
type browser struct {
	t    *testing.T
	ctx  context.Context
	base string

	forgiven string // a fault that mentions it is what a test is about; "" for none

	mu        sync.Mutex
	faults    []string
	exchanges map[network.RequestID]*exchange
	pending   sync.WaitGroup // bodies being read
}

// newBrowser opens a browser for the server. Without Chromium it skips the test, or in CI fails it.
func (s *server) newBrowser() *browser {
	t := s.t
	t.Helper()
	if _, err := chromiumPath(); err != nil {
		lack(t, err.Error())
	}
	running, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	return s.newWindow(chromedp.NewContext(running, chromedp.WithNewBrowserContext()))
}

// newTab opens another tab of the same profile.
func (b *browser) newTab(s *server) *browser {
	b.t.Helper()
	return s.newWindow(chromedp.NewContext(b.ctx))
}

func (s *server) newWindow(ctx context.Context, end context.CancelFunc) *browser {
	t := s.t
	t.Helper()
	b := &browser{t: t, ctx: ctx, base: s.base, exchanges: map[network.RequestID]*exchange{}}
	t.Cleanup(func() {
		if t.Failed() {
			b.shot("failed-" + strings.ReplaceAll(t.Name(), "/", "-"))
		}
		b.pending.Wait()
		for _, fault := range b.faults {
			if b.forgiven == "" || !strings.Contains(fault, b.forgiven) {
				t.Errorf("in the browser: %s", fault)
			}
		}
		end()
	})
	if err := chromedp.Listen(ctx, b.listen); err != nil {
		t.Fatalf("opening a window of Chromium: %v", err)
	}
	// whichever window has it
	tell(b, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true})
	tell(b, network.Enable, network.EnableParams{})
	tell(b, log.Enable, cdp.Empty{})
	tell(b, runtime.Enable, cdp.Empty{})
	tell(b, protocol.AddScriptToEvaluateOnNewDocument, protocol.AddScriptToEvaluateOnNewDocumentParams{
		Source: `document.addEventListener("securitypolicyviolation", (e) => console.error("CSP violation: " + e.violatedDirective + " " + e.blockedURI))`,
	})
	b.resize(1280, 900, "light")
	return b
}

// chromium starts Chromium once for all tests, because starting it takes longer than many tests. endChromium stops it.
var (
	chromium = sync.OnceValues(func() (running context.Context, err error) {
		path, err := chromiumPath()
		if err != nil {
			return nil, err
		}
		allocator, _ := chromedp.NewExecAllocator(context.Background(), chromedp.ExecPath(path), chromedp.WindowSize(1280, 900),
			chromedp.Flag("headless", true), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
			chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
			chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
			chromedp.Flag("disable-backgrounding-occluded-windows", true), chromedp.Flag("disable-renderer-backgrounding", true),
			chromedp.Flag("disable-background-timer-throttling", true),
			chromedp.Flag("hide-scrollbars", true), chromedp.WSURLReadTimeout(timeout))
		running, endChromium = chromedp.NewContext(allocator)
		if err := chromedp.Do(running); err != nil {
			return nil, fmt.Errorf("starting Chromium: %w", err)
		}
		return running, nil
	})
	endChromium context.CancelFunc = func() {}
)

func chromiumPath() (string, error) {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no Chromium here: the dashboard is not tested")
}

func (b *browser) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, actions...); err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
}

// tell sends a command of the DevTools protocol.
func tell[P, R any](b *browser, command cdp.Command[P, R], params P) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, command, params)
		return err
	}))
}

// signIn signs in a superuser.
func (b *browser) signIn(s *server) *browser {
	b.t.Helper()
	return b.signInAs(s, superuserEmail, superuserPassword)
}

// signInAs stores a superuser's session where the dashboard reads it.
func (b *browser) signInAs(s *server, email, password string) *browser {
	b.t.Helper()
	session := s.client("").do("POST", "/api/collections/_superusers/auth-with-password",
		fmt.Sprintf(`{"identity":%q,"password":%q}`, email, password))
	stored, err := json.Marshal(map[string]any{"token": session.json()["token"], "record": session.json()["record"]})
	if err != nil {
		b.t.Fatal(err)
	}
	b.open("/api/health")
	b.run("localStorage.setItem('__pb_superusers__/_', " + quote(string(stored)) + ")")
	return b
}

// open opens a URL of the server.
func (b *browser) open(path string) {
	b.t.Helper()
	b.do(chromedp.Navigate(b.base + path))
}

// integrations opens a page below Integrations, and waits for it.
func (b *browser) integrations(path, title string) {
	b.t.Helper()
	b.open("/_/#/settings/integrations" + path)
	b.wait(title, `document.querySelector(".breadcrumbs [aria-current]")?.textContent === `+quote(title))
	b.wait("the content of "+title, `!document.querySelector(".page .skeleton-loader") && document.querySelector(".integrations-content, .integrations-start")`)
}

// webhook opens the page of a webhook, below the address of the dashboard's or the portal's pages, and waits for it.
func (b *browser) webhook(pages, id string) {
	b.t.Helper()
	b.open(pages + "/webhooks/" + id)
	b.wait("the webhook and its deliveries", `!document.querySelector(".page .skeleton-loader") && document.querySelector(".integrations-facts .label, .integrations-head .label")`)
}

// The addresses of the pages.
const (
	dashboardPages = "/_/#/settings/integrations"
	portalPages    = "/portal/#/integrations"
)

// run runs a script and ignores its value.
func (b *browser) run(script string) {
	b.t.Helper()
	b.do(chromedp.Evaluate[chromedp.Void](script + "\n; undefined")) // the value of a script may be anything
}

// evaluate returns the value of an expression.
func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	value, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("in the browser: %v", err)
	}
	return value
}

// wait waits until the expression is true.
func (b *browser) wait(what, expression string) {
	b.t.Helper()
	deadline, pause := time.Now().Add(timeout), 20*time.Millisecond
	for {
		met, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if err == nil && met {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("timed out waiting for %s (%v); the page shows:\n%s", what, err, evaluate[string](b, "document.body.innerText"))
		}
		time.Sleep(pause) // no event reports every change of a page
		pause = min(pause*3/2, 200*time.Millisecond)
	}
}

// scope is the topmost window, or the page.
const scope = `([...document.querySelectorAll('[data-modal-state="open"]')].sort((a, b) => b.style.zIndex - a.style.zIndex)[0] || document.querySelector(".page") || document.body)`

// sees waits until the text is visible in the topmost window, or on the page.
func (b *browser) sees(text string) {
	b.t.Helper()
	b.wait(fmt.Sprintf("%q", text), scope+`.innerText.replace(/\s+/g, " ").includes(`+quote(text)+")")
}

// matches waits until the visible text in the topmost window, or on the page, matches the regular expression.
func (b *browser) matches(pattern string) {
	b.t.Helper()
	b.wait("what matches "+pattern, "new RegExp("+quote(pattern)+").test("+scope+`.innerText.replace(/\s+/g, " "))`)
}

// notices makes the page watch for a text that may disappear soon, such as a notification. It must be called before
// the action that shows the text. The returned function waits for the text.
func (b *browser) notices(text string) (wait func()) {
	b.t.Helper()
	b.run(`(() => {
		window.noticed = false;
		const look = () => { window.noticed ||= document.body.innerText.includes(` + quote(text) + `) };
		new MutationObserver(look).observe(document.body, { childList: true, subtree: true, characterData: true });
	})()`)
	return func() {
		b.t.Helper()
		b.wait(fmt.Sprintf("the notice %q", text), "window.noticed")
	}
}

// closed waits until no window is open.
func (b *browser) closed() {
	b.t.Helper()
	b.wait("the end of the window", `!document.querySelector('.integrations-dialog')`)
}

// cell finds the cell of a column in the row that has the text.
func cell(row, column string) string {
	return `[...document.querySelectorAll(".integrations-table tbody tr[data-id]")].find((el) => el.innerText.includes(` + quote(row) + `))?.querySelector("td[data-name=" + ` + quote(quote(column)) + ` + "]")`
}

// says waits until the cell of a column, in the row that has the text, says something.
func (b *browser) says(row, column, text string) {
	b.t.Helper()
	b.wait(fmt.Sprintf("%q as %s of %s", text, column, row), cell(row, column)+`?.innerText.trim() === `+quote(text))
}

// clickTwice clicks the button with that name twice, before the server can respond.
func (b *browser) clickTwice(name string) {
	b.t.Helper()
	button := `document.querySelector("button[aria-label=" + ` + quote(quote(name)) + ` + "]")`
	b.wait(name, button)
	evaluate[bool](b, `(async () => {
		const click = () => `+button+`.click();
		click();
		await new Promise((resolve) => setTimeout(resolve));
		click();
		return true;
	})()`)
}

// click clicks the button or link with that name as soon as it is clickable. If a list loads at that moment and moves
// the element, click withholds the missed click from the page and repeats it.
func (b *browser) click(name string) {
	b.t.Helper()
	b.clickWhile("true", name)
}

// clickInMenu opens a menu and clicks an item. If a list loads at that moment and closes the menu, it
// opens the menu again.
func (b *browser) clickInMenu(menu, item string) {
	b.t.Helper()
	for {
		b.click(menu)
		if b.clickWhile(`!!document.querySelector(":popover-open")`, item) {
			return
		}
	}
}

// clickWhile is click while the condition holds, and reports whether it has clicked.
func (b *browser) clickWhile(condition, name string) (clicked bool) {
	b.t.Helper()
	aim := `(() => {
		if (!(` + condition + `)) return [];
		const called = (el) => (el.ariaLabel || el.textContent).replace(/\s+/g, " ").trim();
		const found = [...` + scope + `.querySelectorAll("button, a[href], summary, label")].find((el) => called(el) === ` + quote(name) + ` && el.checkVisibility());
		if (!found || found.disabled) return null;
		found.scrollIntoView({ block: "center", inline: "center" });
		const box = found.getBoundingClientRect();
		const [x, y] = [box.left + Math.min(box.width / 2, 60), box.top + box.height / 2];
		const hit = document.elementFromPoint(x, y);
		if (!hit || !(found.contains(hit) || hit.contains(found))) return null;
		window.target = { found, hit };
		return [x, y];
	})()`
	const watch = `(() => {
		const { found, hit } = window.target;
		const withhold = (event) => { event.preventDefault(); event.stopImmediatePropagation(); };
		window.target.struck = false;
		window.target.listener = (event) => {
			if (event.target === hit || found.contains(event.target)) window.target.struck = true;
			else if (!window.target.struck) withhold(event);
		};
		document.addEventListener("click", window.target.listener, true);
	})()`
	const missed = `(() => {
		if (!window.target) return false; // the click has opened another page
		document.removeEventListener("click", window.target.listener, true);
		return !window.target.struck;
	})()`
	var last []float64
	deadline := time.Now().Add(timeout)
	for {
		point, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]float64](aim))
		if err == nil && point != nil {
			if len(point) == 0 {
				return false
			}
			if slices.Equal(point, last) { // it does not move any more
				b.run(watch)
				b.do(chromedp.MouseClickXY(point[0], point[1]))
				if again, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](missed)); err != nil || !again {
					return true
				}
			}
			last = point
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("there is no %q to click; the page shows:\n%s", name, evaluate[string](b, "document.body.innerText"))
		}
		time.Sleep(60 * time.Millisecond) // between two looks, which show whether it still moves
	}
}

// labelled returns the field with that label.
func labelled(label string) string {
	return `document.getElementById([...` + scope + `.querySelectorAll("label")].find((l) => l.textContent.trim() === ` + quote(label) + ` && l.checkVisibility())?.htmlFor)`
}

// fill replaces the text in the field with that label.
func (b *browser) fill(label, value string) {
	b.t.Helper()
	field := labelled(label)
	// in one task of the page: what takes the focus away, such as the end of a navigation to a section, comes
	// before or after it
	b.wait("the field "+label, `((el, value) => {
		if (!el || el.disabled) return false;
		if (el.type === "datetime-local") {
			el.value = value;
			for (const kind of ["input", "change"]) el.dispatchEvent(new Event(kind, { bubbles: true }));
			return true;
		}
		el.focus();
		el.select();
		if (document.activeElement !== el) return false;
		return value ? document.execCommand("insertText", false, value) : !el.value || document.execCommand("delete");
	})(`+field+`, `+quote(value)+`)`)
}

// settled waits until the page has loaded and has shown the section that its address names, which takes the focus away.
func (b *browser) settled() {
	b.t.Helper()
	b.wait("the whole page", `document.readyState === "complete"`)
	evaluate[bool](b, `new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => resolve(true))))`)
}

// choose chooses an option, by its text, in the select with that label.
func (b *browser) choose(label, option string) {
	b.t.Helper()
	field := labelled(label)
	b.wait("the option "+option, `[...(`+field+`?.options || [])].some((o) => o.text === `+quote(option)+`)`)
	b.run(`(() => { const el = ` + field + `; el.value = [...el.options].find((o) => o.text === ` + quote(option) +
		`).value; el.dispatchEvent(new Event("change", { bubbles: true })) })()`)
}

// shown returns the text in a frame of the window that shows a secret.
func (b *browser) shown(label string) string {
	b.t.Helper()
	frame := `[...document.querySelectorAll(".integrations-copy pre")].find((el) => el.ariaLabel === ` + quote(label) + `)`
	b.wait(label, frame)
	return evaluate[string](b, frame+".textContent")
}

func quote(text string) string {
	quoted, _ := json.Marshal(text)
	return string(quoted)
}
