package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/sys/unix"

	"contactbase/internal/testenv"
)

// The shipped alerts fire in the tests of Prometheus's own tool once their faults last long enough.
func TestAlertRules(t *testing.T) {
	t.Parallel()
	tool := findTool(t, "promtool")
	if tool == "" {
		t.Skip("there is no promtool here")
	}
	if out, err := exec.CommandContext(t.Context(), tool, "test", "rules", "../deploy/alerts_test.yml").CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

// impatient returns the alerts with waits of seconds instead of minutes.
func impatient(t *testing.T) string {
	t.Helper()
	rules, err := os.ReadFile("../deploy/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	seconds := strings.NewReplacer("[5m]", "[5s]", "[1h]", "[5s]", "[1d]", "[5s]", "> 86400", "> 2", "fanout_lag_seconds > 60", "fanout_lag_seconds > 10")
	return regexp.MustCompile(`for: \d+m`).ReplaceAllString(seconds.Replace(string(rules)), "for: 2s")
}

// prometheus is a Prometheus that scrapes a server.
type prometheus struct {
	*process
	base string
}

// startPrometheus starts a Prometheus that scrapes the address. It skips the test if Prometheus is not installed.
func startPrometheus(t *testing.T, scraped string) *prometheus {
	t.Helper()
	tool := findTool(t, "prometheus")
	if tool == "" {
		t.Skip("there is no prometheus here")
	}
	folder, address := t.TempDir(), freeAddress(t)
	config := fmt.Sprintf(`
global: {scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}
rule_files: [alerts.yml]
scrape_configs:
  - job_name: contactbase
    static_configs: [{targets: [%q]}]
`, scraped)
	for name, content := range map[string]string{"prometheus.yml": config, "alerts.yml": impatient(t)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(tool, "--config.file="+filepath.Join(folder, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(folder, "data"), "--web.listen-address="+address)
	p := &prometheus{launch(t, command), "http://" + address}
	p.await("Server is ready to receive web requests")
	return p
}

// get queries the API of Prometheus, and decodes its data.
func (p *prometheus) get(path string, data any) {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.base+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	answer := struct {
		Error string
		Data  any
	}{Data: data}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || answer.Error != "" {
		p.t.Fatalf("%s returns %v %s", path, err, answer.Error)
	}
}

// firing returns the names of the alerts that fire.
func (p *prometheus) firing() []string {
	p.t.Helper()
	var found struct {
		Alerts []struct {
			Labels map[string]string
			State  string
		}
	}
	p.get("/api/v1/alerts", &found)
	var names []string
	for _, alert := range found.Alerts {
		if alert.State == "firing" {
			names = append(names, strings.TrimPrefix(alert.Labels["alertname"], "Contactbase"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// expects waits until the wanted alerts fire. No others may fire, except those that the fault may cause, too. A busy
// machine may write slowly at any time.
func (p *prometheus) expects(fault string, wanted []string, besides ...string) {
	p.t.Helper()
	var got []string
	await(p.t, fmt.Sprintf("%v for %s", wanted, fault), func() bool {
		got = p.firing()
		return !slices.ContainsFunc(wanted, func(name string) bool { return !slices.Contains(got, name) })
	})
	for _, name := range got {
		if !slices.Contains(slices.Concat(wanted, besides, []string{"WritesSlow"}), name) {
			p.t.Errorf("for %s the alert %s fires as well", fault, name)
		}
	}
}

// calms waits until no alert fires.
func (p *prometheus) calms(after string) {
	p.t.Helper()
	await(p.t, "the end of the alerts after "+after, func() bool {
		return len(slices.DeleteFunc(p.firing(), func(name string) bool { return name == "WritesSlow" })) == 0
	})
}

// dashboardQueries returns the queries of the Grafana dashboard.
func dashboardQueries(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../deploy/grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	var queries []string
	for _, panel := range board.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, strings.NewReplacer("$__rate_interval", "10s", "$instance", ".+").Replace(target.Expr))
		}
	}
	if len(queries) < 20 {
		t.Errorf("the dashboard has %d queries", len(queries))
	}
	return queries
}

// documented checks that the guides describe each of the metrics.
func documented(t *testing.T, address string) {
	t.Helper()
	var guides string
	for _, name := range []string{"monitoring.md", "delivery.md"} {
		text, err := os.ReadFile(filepath.Join("../docs", name))
		if err != nil {
			t.Fatal(err)
		}
		guides += string(text)
	}
	scraper := &server{process: &process{t: t}, base: "http://" + address}
	metrics := scraper.client("").expect(http.StatusOK, http.MethodGet, "/metrics", "").body
	names := regexp.MustCompile(`(?m)^# TYPE (contactbase_\w+)`).FindAllSubmatch(metrics, -1)
	if len(names) < 20 {
		t.Errorf("there are %d metrics", len(names))
	}
	for _, name := range names {
		if !strings.Contains(guides, "`"+string(name[1])) {
			t.Errorf("no guide describes %s", name[1])
		}
	}
}

// keepCreating creates contacts until the test ends, and ignores errors.
func keepCreating(t *testing.T, s *server, key string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var workers sync.WaitGroup
	t.Cleanup(func() {
		stop()
		workers.Wait()
	})
	for range 4 {
		workers.Go(func() {
			pause := time.NewTicker(50 * time.Millisecond)
			defer pause.Stop()
			for {
				request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base+contactsPath, strings.NewReader(`{"name":"Ada"}`))
				if err != nil {
					return
				}
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("X-API-Key", key)
				if response, err := http.DefaultClient.Do(request); err == nil {
					response.Body.Close()
				}
				select {
				case <-ctx.Done():
					return
				case <-pause.C:
				}
			}
		})
	}
}

// monitored is a busy server that a Prometheus scrapes.
type monitored struct {
	*server
	prometheus  *prometheus
	metrics     string // the address
	receiver    *receiver
	secret      string // of the receiver's webhook
	webhookPath string // of its record
}

func startMonitored(t *testing.T) *monitored {
	t.Helper()
	i := newInstallation(t).superuser()
	m := &monitored{metrics: freeAddress(t), receiver: newReceiver(t)}
	i.env = []string{"CONTACTBASE_METRICS_ADDR=" + m.metrics, "CONTACTBASE_LOG_LEVEL=error"}
	m.server, m.prometheus = i.serve(), startPrometheus(t, m.metrics)
	tenant := str(t, i.one("tenant", "create", "Acme", "--rateLimit", "1000000"), "id")
	webhook := i.one("webhook", "create", tenant, m.receiver.URL)
	m.secret, m.webhookPath = str(t, webhook, "secret"), "/api/collections/webhooks/records/"+str(t, webhook, "id")
	m.receiver.set(m.secret, nil)
	keepCreating(t, m.server, str(t, i.one("key", "create", tenant), "key"))
	return m
}

// Each query of the dashboard returns data from a real Prometheus, no alert fires, and each metric is documented.
func TestMetrics(t *testing.T) {
	t.Parallel()
	m := startMonitored(t)
	for _, query := range dashboardQueries(t) {
		var found struct{ Result []any }
		await(t, "data for "+query, func() bool {
			m.prometheus.get("/api/v1/query?query="+url.QueryEscape(query), &found)
			return len(found.Result) > 0
		})
	}
	m.prometheus.expects("nothing", nil)
	documented(t, m.metrics)
}

// In a real Prometheus, each alert fires when its fault occurs, and not before.
func TestAlerts(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "waits for each alert of a real Prometheus; the tests of the rules need no server")
	m := startMonitored(t)
	s, p := m.server, m.prometheus
	admin := s.signIn()
	await(t, "a baseline", func() bool { // the alert compares with the minute before
		var found struct{ Result []any }
		p.get("/api/v1/query?query="+url.QueryEscape("count_over_time(contactbase_delivery_disabled_endpoints[1m]) > 2"), &found)
		return len(found.Result) > 0
	})

	admin.expect(http.StatusOK, http.MethodPatch, m.webhookPath, `{"disabled":true}`)
	p.expects("a webhook that is disabled", []string{"WebhookDisabled"})
	admin.expect(http.StatusOK, http.MethodPatch, m.webhookPath, `{"disabled":false}`)
	p.calms("that")

	m.receiver.set(m.secret, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) })
	p.expects("an endpoint that fails", []string{"DeliveriesOld"})
	admin.expect(http.StatusNoContent, http.MethodDelete, m.webhookPath, "")
	p.calms("that")

	late := []string{"DeliveriesStuck", "DeliveriesOld"} // where nothing can be written nothing is delivered
	fileSize(t, s, 1<<10)
	p.expects("a disk that takes no more", []string{"Errors", "NotReady"}, late...)
	admin.expect(http.StatusServiceUnavailable, http.MethodPost, "/api/backups", `{"name":"lost.zip"}`)
	p.expects("a backup onto it", []string{"BackupFailed", "Errors", "NotReady"}, late...)
	fileSize(t, s, unix.RLIM_INFINITY)
	p.calms("that")

	release := holdDatabase(t, m.installation.data)
	p.expects("another program that holds the database", []string{"WritesSlow"}, append(late, "NotReady", "Errors")...)
	release()
	p.calms("that")

	s.stop()
	p.expects("a server that is down", []string{"Down"})
	m.installation.restartBadly(s)
	p.expects("little room and a lock that another has", []string{"DeliveriesStuck", "DiskLow"}, late...)
}

// holdDatabase repeatedly locks the database for a second, until the returned function is called.
func holdDatabase(t *testing.T, folder string) (release func()) {
	t.Helper()
	db := openData(t, folder)
	released, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			if _, err := db.Exec("BEGIN IMMEDIATE"); err != nil {
				t.Errorf("holding the database: %v", err)
				return
			}
			select {
			case <-time.After(time.Second):
			case <-released:
			}
			_, _ = db.Exec("ROLLBACK")
			select {
			case <-released:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	return func() {
		close(released)
		<-done
	}
}

// restartBadly restarts the server while another process has the lock of the delivery engine, with a higher minimum
// of free disk space than there is.
func (i *installation) restartBadly(s *server) {
	i.t.Helper()
	lock := flock.New(filepath.Join(i.data, ".contactbase-engine.lock"))
	if locked, err := lock.TryLock(); !locked || err != nil {
		i.t.Fatalf("taking the lock: %v %v", locked, err)
	}
	i.t.Cleanup(func() { _ = lock.Unlock() })
	var disk unix.Statfs_t
	if err := unix.Statfs(i.data, &disk); err != nil {
		i.t.Fatal(err)
	}
	free := disk.Bavail * uint64(disk.Bsize) >> 20
	i.env = append(i.env, fmt.Sprintf("CONTACTBASE_MIN_FREE_DISK=%d", free/3))
	s.again()
}
