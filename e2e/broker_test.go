package e2e

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"contactbase/internal/testenv"
)

// publishedEvent is an event as a consumer reads it.
type publishedEvent struct {
	ID   string         `json:"id"`
	Type string         `json:"type"`
	Data map[string]any `json:"data"`
}

// Events reach a stream like a receiver: signed, in order, with their ids, and logged.
func TestEventsToNATS(t *testing.T) {
	t.Parallel()
	broker := startNATS(t)
	stream := broker.stream(t, jetstream.StreamConfig{})
	i := newInstallation(t).superuser()
	i.env = []string{"CONTACTBASE_NATS=" + broker.URL}
	tenant := str(t, i.one("tenant", "create", "Acme"), "id")
	webhook := i.one("webhook", "create", tenant, "nats:contactbase.acme.contacts")
	s := i.serve()
	c := s.client(str(t, i.one("key", "create", tenant), "key"))
	const contacts = 5
	for n := range contacts {
		createAndUpdate(c, n)
	}
	messages := published(t, stream, "the events", distinct(2*contacts))
	checkOrder(t, messages)
	for _, m := range messages {
		e := parse[publishedEvent](t, string(m.Data()))
		mac := hmac.New(sha256.New, []byte(str(t, webhook, "secret")))
		mac.Write(m.Data())
		header := http.Header(m.Headers())
		if header.Get("X-Signature") != hex.EncodeToString(mac.Sum(nil)) || header.Get("Webhook-Id") != e.ID || header.Get("Nats-Msg-Id") != e.ID ||
			header.Get("X-Event") != e.Type || header.Get("Content-Type") != "application/json" || m.Subject() != "contactbase.acme.contacts" {
			t.Errorf("%s has the header %v and the body %s", m.Subject(), header, m.Data())
		}
	}

	ping := s.signIn().expect(http.StatusOK, http.MethodPost, "/api/integrations/webhooks/"+str(t, webhook, "id")+"/ping", "").data()
	if ping["status"] != 204.0 || ping["error"] != nil {
		t.Errorf("the test event returns %v", ping)
	}
	deliveries := i.many("delivery", "list", str(t, webhook, "id"), "--status", "delivered")
	i.must("delivery", "redeliver", str(t, deliveries[0], "id"))
	published(t, stream, "the test event", distinct(2*contacts+1))
	info, err := stream.Info(t.Context())
	if err != nil || info.State.Msgs != 2*contacts+1 {
		t.Errorf("the stream has %d messages (%v): a redelivery is a duplicate", info.State.Msgs, err)
	}
}

// createAndUpdate creates and updates a contact.
func createAndUpdate(c *client, n int) {
	c.t.Helper()
	id := str(c.t, c.expect(http.StatusCreated, http.MethodPost, contactsPath, fmt.Sprintf(`{"name":"Person %d"}`, n)).data(), "id")
	c.expect(http.StatusOK, http.MethodPatch, contactsPath+"/"+id, `{"company":"Engines"}`)
}

// checkOrder checks that each contact was created before it was updated, and that no event is duplicated. An update
// waits for a creation that fails in its first minute, which ends before the third attempt.
func checkOrder(t *testing.T, messages []jetstream.Msg) {
	t.Helper()
	last, ids, late := map[any]string{}, map[string]bool{}, map[any]bool{}
	for _, m := range messages {
		if e := parse[publishedEvent](t, string(m.Data())); e.Type == "contact.created" {
			attempt := http.Header(m.Headers()).Get("X-Attempt")
			late[e.Data["id"]] = attempt != "1" && attempt != "2"
		}
	}
	for _, m := range messages {
		e := parse[publishedEvent](t, string(m.Data()))
		if e.Type == "contact.updated" && last[e.Data["id"]] != "contact.created" && !late[e.Data["id"]] {
			t.Errorf("%v was updated after %q", e.Data["id"], last[e.Data["id"]])
		}
		if ids[e.ID] {
			t.Errorf("%s is in the stream twice", e.ID)
		}
		last[e.Data["id"]], ids[e.ID] = e.Type, true
	}
}

// Events that no stream accepts are kept with an error, and arrive once a stream accepts them.
func TestNATSFaults(t *testing.T) {
	t.Parallel()
	broker := startNATS(t)
	i := newInstallation(t)
	i.env = []string{"CONTACTBASE_NATS=" + broker.URL}
	tenant := str(t, i.one("tenant", "create", "Acme"), "id")
	webhook := str(t, i.one("webhook", "create", tenant, "nats:contactbase.acme"), "id")
	c := i.serve().client(str(t, i.one("key", "create", tenant), "key"))
	awaitFailure := func(says string) {
		t.Helper()
		await(t, "a delivery that says "+says, func() bool {
			return slices.ContainsFunc(i.many("delivery", "list", webhook, "--status", "pending"), func(d map[string]any) bool {
				text, _ := d["lastError"].(string)
				return strings.Contains(text, says)
			})
		})
	}
	createAndUpdate(c, 0)
	awaitFailure("NATS has no stream for the subject contactbase.acme; create one")

	full := jetstream.StreamConfig{MaxMsgs: 3, Discard: jetstream.DiscardNew}
	stream := broker.stream(t, full)
	published(t, stream, "what no stream took", distinct(2))
	createAndUpdate(c, 1)
	awaitFailure("maximum messages exceeded")

	broker.kill()
	createAndUpdate(c, 2)
	awaitFailure("not connected to NATS")
	broker.start(t)
	if err := stream.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	published(t, stream, "what the stream had no room for and what came while the server was down", distinct(3))
}

// With a stream on three servers, nothing is lost when the leader is killed.
func TestNATSCluster(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "starts three NATS servers; one server is enough for the other tests of NATS")
	nodes := startNATSCluster(t, "n0", "n1", "n2")
	stream := nodes["n0"].stream(t, jetstream.StreamConfig{Replicas: 3})
	info, err := stream.Info(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	i := newInstallation(t)
	i.env = []string{"CONTACTBASE_NATS=" + nodes["n0"].URL + "," + nodes["n1"].URL + "," + nodes["n2"].URL}
	tenant := str(t, i.one("tenant", "create", "Acme", "--rateLimit", "1000000"), "id")
	i.must("webhook", "create", tenant, "nats:contactbase.acme")
	c := i.serve().client(str(t, i.one("key", "create", tenant), "key"))
	const contacts = 60
	for n := range contacts {
		if n == contacts/3 {
			nodes[info.Cluster.Leader].kill()
		}
		createAndUpdate(c, n)
	}
	checkOrder(t, published(t, stream, "all events", distinct(2*contacts)))
}

// The server authenticates with a credentials file, and reports errors.
func TestNATSCredentials(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if out, err := exec.Command(natsProgram(t, "nats"), folder).CombinedOutput(); err != nil {
		t.Fatalf("making credentials: %v\n%s", err, out)
	}
	credentials := filepath.Join(folder, "user.creds")
	broker := startNATS(t, "-c", filepath.Join(folder, "server.conf"))
	stream := broker.stream(t, jetstream.StreamConfig{}, nats.UserCredentials(credentials))
	i := newInstallation(t).superuser()
	i.env = []string{"CONTACTBASE_NATS=" + broker.URL}
	tenant := str(t, i.one("tenant", "create", "Acme"), "id")
	webhook := str(t, i.one("webhook", "create", tenant, "nats:contactbase.acme"), "id")
	pingPath := "/api/integrations/webhooks/" + webhook + "/ping"

	s := i.serve()
	if ping := s.signIn().expect(http.StatusOK, http.MethodPost, pingPath, "").data(); !strings.Contains(fmt.Sprint(ping["error"]), "Authorization Violation") {
		t.Errorf("without credentials the test event returns %v", ping)
	}
	s.stop()
	i.env = append(i.env, "CONTACTBASE_NATS_CREDS="+credentials)
	s = i.serve()
	if ping := s.signIn().expect(http.StatusOK, http.MethodPost, pingPath, "").data(); ping["status"] != 204.0 {
		t.Errorf("with credentials the test event returns %v", ping)
	}
	published(t, stream, "the test event", distinct(1))
	if kept, err := os.ReadFile(filepath.Join(i.data, "data.db")); err != nil || strings.Contains(string(kept), "-----BEGIN") {
		t.Errorf("credentials are in the database: %v", err)
	}
}

// Invalid URLs and settings are refused.
func TestNATSRefusals(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	tenant := str(t, i.one("tenant", "create", "Acme"), "id")
	for _, c := range []struct {
		url, says string
		args      []string
	}{
		{"nats:contactbase.acme", "runs without --nats", nil},
		{"nats:other.acme", "names a subject that --natsSubjects does not allow; it allows contactbase.>", []string{"--nats", "nats://127.0.0.1:1"}},
		{"nats:contactbase.>", "a subject without wildcards", []string{"--nats", "nats://127.0.0.1:1"}},
		{"nats:contactbase", "does not allow", []string{"--nats", "nats://127.0.0.1:1"}},
		{"nats:contactbase.acme", "--nats must be the URL of a server", []string{"--nats", "127.0.0.1:1"}},
		{"nats:contactbase.acme", "--natsCreds names a file that cannot be read", []string{"--nats", "nats://127.0.0.1:1", "--natsCreds", "/nowhere"}},
		{"nats:contactbase.acme", "--natsSubjects cannot have subjects that begin with $", []string{"--nats", "nats://127.0.0.1:1", "--natsSubjects", "$JS.>"}},
	} {
		got := i.run(append([]string{"webhook", "create", tenant, c.url}, c.args...)...)
		if got.code == 0 || !strings.Contains(got.stderr, c.says) || !oneLine(got.stderr) {
			t.Errorf("%s with %v exits with %d and prints %q", c.url, c.args, got.code, got.stderr)
		}
	}
	shown := i.must("config", "--nats", "nats://admin:a-password@127.0.0.1:1", "--json")
	if strings.Contains(shown, "a-password") || !strings.Contains(shown, "nats://[hidden]@127.0.0.1:1") {
		t.Errorf("config shows %s", shown)
	}
}
