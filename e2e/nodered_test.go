package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// nodeRED is a Node-RED without a browser, controlled by its HTTP API.
type nodeRED struct {
	*process
	*client
}

// startNodeRED starts Node-RED in a directory of its own, with a flow and additional environment variables.
func startNodeRED(t *testing.T, address, flow string, env ...string) *nodeRED {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		lack(t, "there is no Node.js here")
	}
	script, err := filepath.Abs("node-red/node_modules/node-red/red.js")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(script); err != nil {
		lack(t, "e2e/node-red has no packages: run npm ci there")
	}
	folder := t.TempDir()
	host, port, _ := strings.Cut(address, ":")
	for name, content := range map[string][]byte{
		"flows.json":  printing(t, flow),
		"settings.js": fmt.Appendf(nil, `module.exports = {flowFile: "flows.json", uiHost: %q, uiPort: %s, telemetry: {enabled: false}}`, host, port),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.Command(node, script, "--userDir", folder)
	command.Dir = folder
	command.Env = append(append(os.Environ(), "HOME="+folder), env...)
	p := launch(t, command)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("Node-RED printed:\n%s", p.output)
		}
	})
	p.await("Started flows")
	return &nodeRED{p, &client{t: t, base: "http://" + address, header: map[string]string{}, http: http.DefaultClient}}
}

// printing returns a flow that prints its debug messages.
func printing(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	nodes := parse[[]map[string]any](t, string(content))
	for _, node := range nodes {
		if node["type"] == "debug" {
			node["console"] = true
		}
	}
	if content, err = json.Marshal(nodes); err != nil {
		t.Fatal(err)
	}
	return content
}

// sign returns the headers of Standard Webhooks for a body.
func sign(secret, id string, at time.Time, body string) []string {
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	timestamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "." + body))
	return []string{"webhook-id", id, "webhook-timestamp", timestamp, "webhook-signature", "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))}
}

// The example flow creates a contact, and accepts its event and no other.
func TestNodeRED(t *testing.T) {
	t.Parallel()
	const flow = "../docs/site/assets/node-red.json"
	i, _, key := newKey(t)
	address := freeAddress(t)
	webhook := i.one("webhook", "create", "Acme", "http://"+address+"/contactbase")
	secret := str(t, webhook, "secret")
	s := i.serve()
	n := startNodeRED(t, address, flow, "CONTACTBASE_URL="+s.base, "CONTACTBASE_KEY="+key, "CONTACTBASE_WEBHOOK_SECRET="+secret)

	n.expect(http.StatusOK, http.MethodPost, "/inject/contactbase-example", "{}")
	n.await("[debug:answer]")
	n.await("[debug:verified event]")
	n.await("type: 'contact.created'")
	list := parse[page](t, string(s.client(key).expect(http.StatusOK, http.MethodGet, contactsPath, "").body))
	if len(list.Data) != 1 || *list.Data[0].Name != "Ada Lovelace" {
		t.Fatalf("the contacts are %+v", list)
	}
	s.awaitRecords("deliveries", `status="delivered"`, 1)

	const forged = `{"id":"evt_forged","type":"contact.deleted","data":{}}`
	now := time.Now()
	good := sign(secret, "evt_forged", now, forged)
	for what, tc := range map[string]struct {
		status int
		body   string
		header []string
	}{
		"no signature":            {http.StatusUnauthorized, forged, nil},
		"another secret":          {http.StatusUnauthorized, forged, sign("whsec_"+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("x"), 32)), "evt_forged", now, forged)},
		"another body":            {http.StatusUnauthorized, forged + " ", good},
		"another id":              {http.StatusUnauthorized, forged, append(good[2:len(good):len(good)], "webhook-id", "evt_other")},
		"an old one":              {http.StatusUnauthorized, forged, sign(secret, "evt_forged", now.Add(-time.Hour), forged)},
		"another version":         {http.StatusUnauthorized, forged, append(good[:4:4], "webhook-signature", strings.Replace(good[5], "v1,", "v2,", 1))},
		"one of two that matches": {http.StatusNoContent, `{"type":"second"}`, twice(sign(secret, "evt_second", now, `{"type":"second"}`))},
	} {
		if got := n.do(http.MethodPost, "/contactbase", tc.body, tc.header...); got.status != tc.status {
			t.Errorf("%s: %s", what, got)
		}
	}
	n.await("type: 'second'")
	unset := startNodeRED(t, freeAddress(t), flow)
	unset.expect(http.StatusUnauthorized, http.MethodPost, "/contactbase", forged, sign("", "evt_forged", now, forged)...)
	printed := n.output.String()
	if strings.Contains(printed, "evt_forged") || strings.Contains(printed, key) || strings.Contains(printed, strings.TrimPrefix(secret, "whsec_")) {
		t.Errorf("a forged event passed, or a credential is printed:\n%s", printed)
	}
}

// twice inserts another signature before the valid one, as after a rotation.
func twice(header []string) []string {
	header[5] = "v1,b3RoZXI= " + header[5]
	return header
}
