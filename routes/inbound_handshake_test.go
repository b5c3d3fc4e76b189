package routes_test

import (
	"net/url"
	"strings"
	"testing"
)

// kept returns the newest stored request as text, and how many there are.
func (s *sender) kept(f *fixture) (newest string, count int) {
	s.t.Helper()
	rows, err := f.App.FindRecordsByFilter("inbound_requests", "tenant = {:tenant}", "-@rowid", 0, 0, map[string]any{"tenant": f.tenant})
	if err != nil {
		s.t.Fatal(err)
	}
	if len(rows) == 0 {
		return "", 0
	}
	return rows[0].GetString("contentType") + "|" + rows[0].GetString("body") + "|" + rows[0].GetString("result"), len(rows)
}

func TestInboundHandshakes(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "full", map[string]any{"verifySecret": "nobody signs a handshake"})
	token := strings.TrimPrefix(s.path, "/api/hooks/")
	meta := "?hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token="
	for _, c := range []struct {
		name, method, query, body string
		header                    []string
		status                    int
		want, kind, kept          string // the body or error code, the content type, what is stored
	}{
		{"Meta", "GET", meta + token, "", nil, 200, "1158201444", "text/plain", `|hub.mode=subscribe&hub.challenge=1158201444&hub.verify_token=[redacted]|{"handshake":"Meta"}`},
		{"Meta with the token as the challenge", "GET", "?hub.mode=subscribe&hub.challenge=" + token + "&hub.verify_token=" + token, "", nil, 200, token, "text/plain", "|hub.mode=subscribe&hub.challenge=[redacted]&"},
		{"Meta with escapes", "GET", "?hub%2Emode=subscribe&hub.challenge=%31&hub.verify%5Ftoken=" + strings.Replace(token, "_", "%5F", 1), "", nil, 200, "1", "text/plain", "|hub.mode=subscribe&hub.challenge=1&"},
		{"Meta with another token", "GET", meta + "x", "", nil, 403, "forbidden", "application/json", `||{"error":{"code":"forbidden"`},
		{"Meta without a token", "GET", "?hub.mode=subscribe&hub.challenge=1", "", nil, 403, "forbidden", "application/json", ""},
		{"Meta without a challenge", "GET", "?hub.mode=subscribe&hub.verify_token=" + token, "", nil, 400, "invalid_parameter", "application/json", ""},
		{"Dropbox", "GET", "?challenge=a+b%3Cscript%3E", "", nil, 200, "a b<script>", "text/plain", `|challenge=a+b%3Cscript%3E|{"handshake":"Dropbox"}`},
		{"a long challenge", "GET", "?challenge=" + strings.Repeat("a", 1024), "", nil, 200, strings.Repeat("a", 1024), "text/plain", ""},
		{"a challenge that is too long", "GET", "?challenge=" + strings.Repeat("a", 1025), "", nil, 400, "invalid_parameter", "application/json", `||{"error":`},
		{"a challenge of two lines", "GET", "?challenge=a%0Ab", "", nil, 400, "invalid_parameter", "application/json", ""},
		{"a challenge beyond ASCII", "GET", "?challenge=%C3%A4", "", nil, 400, "invalid_parameter", "application/json", ""},
		{
			"Slack", "POST", "", `{"token":"slack secret","challenge":"3eZbrw1a","type":"url_verification"}`, nil,
			200, `{"challenge":"3eZbrw1a"}`, "application/json", `|{"challenge":"3eZbrw1a"}|{"handshake":"Slack"}`,
		},
		{"monday.com", "POST", "", `{"challenge":"x"}`, nil, 200, `{"challenge":"x"}`, "application/json", `|{"challenge":"x"}|{"handshake":"monday.com"}`},
		{"Slack beyond ASCII", "POST", "", `{"challenge":"ä","type":"url_verification"}`, nil, 400, "invalid_parameter", "application/json", ""},
		{"Microsoft", "POST", "?validationToken=Validation%3A+abc", "", nil, 200, "Validation: abc", "text/plain", `|validationToken=Validation%3A+abc|{"handshake":"Microsoft"}`},
		{"Asana", "POST", "", "{}", []string{"X-Hook-Secret", "b537207f"}, 200, "ok", "text/plain", `|X-Hook-Secret: [redacted]|{"handshake":"Asana"}`},
		{"Asana without a body", "POST", "", "", []string{"X-Hook-Secret", "b537207f"}, 200, "ok", "text/plain", ""},
		{"Asana with a long secret", "POST", "", "{}", []string{"X-Hook-Secret", strings.Repeat("b", 1025)}, 400, "invalid_parameter", "application/json", ""},
		{"no handshake: a contact with a challenge", "POST", "", `{"challenge":"x","name":"Ada"}`, nil, 401, "invalid_signature", "application/json", ""},
		{"no handshake: a contact with X-Hook-Secret", "POST", "", `{"name":"Ada"}`, []string{"X-Hook-Secret", "mine"}, 401, "invalid_signature", "application/json", ""},
	} {
		got := s.Do(c.method, s.path+c.query, c.body, c.header...)
		text := string(got.Body)
		if got.Status != 200 {
			text = got.Code()
		}
		if got.Status != c.status || text != c.want || !strings.HasPrefix(got.Header.Get("Content-Type"), c.kind) || got.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s gives %d %s %v", c.name, got.Status, got.Body, got.Header)
		}
		if len(c.header) > 0 && got.Status == 200 && got.Header.Get(c.header[0]) != c.header[1] {
			t.Errorf("%s: the header is %v", c.name, got.Header)
		}
		kept, _ := s.kept(f)
		if !strings.HasPrefix(kept, c.kept) || strings.Contains(kept, token) || strings.Contains(kept, "b537207f") || strings.Contains(kept, "slack secret") {
			t.Errorf("%s is stored as %s", c.name, kept)
		}
	}
	if total, err := f.App.CountRecords("contacts"); err != nil || total != 0 {
		t.Errorf("there are %d contacts (%v)", total, err)
	}
	webhook, err := f.App.FindFirstRecordByData("inbound_webhooks", "tenant", f.tenant)
	if err != nil || !webhook.GetDateTime("lastUsed").IsZero() {
		t.Errorf("the webhook was used: %v (%v)", webhook, err)
	}
}

// A body over 16 KiB is no handshake, but an ordinary request: its signature is checked before it is decoded.
func TestInboundLongHandshakes(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "full", map[string]any{"verifySecret": "nobody signs a handshake"})
	slack := func(length int) string {
		const begin, end = `{"challenge":"3eZbrw1a","type":"url_verification","pad":"`, `"}`
		return begin + strings.Repeat("x", length-len(begin+end)) + end
	}
	for _, c := range []struct {
		name, query, body string
		status            int
	}{
		{"Slack", "", slack(16 << 10), 200},
		{"Slack, longer", "", slack(16<<10 + 1), 401},
		{"Microsoft", "?validationToken=a", strings.Repeat(" ", 16<<10), 200},
		{"Microsoft, longer", "?validationToken=a", strings.Repeat(" ", 16<<10+1), 401},
		{"Asana", "", strings.Repeat(" ", 16<<10), 200},
		{"Asana, longer", "", strings.Repeat(" ", 16<<10+1), 401},
	} {
		var header []string
		if strings.HasPrefix(c.name, "Asana") {
			header = []string{"X-Hook-Secret", "b537207f"}
		}
		got := s.Do("POST", s.path+c.query, c.body, header...)
		if got.Status != c.status || c.status == 401 && got.Code() != "invalid_signature" {
			t.Errorf("%s gives %d %s", c.name, got.Status, got.Body)
		}
	}
}

// Probes leave no trace. Handshakes need the token, and count for the limit.
func TestInboundHandshakesAreLimited(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	s := newSender(t, f, "upsert", nil)
	for range 30 {
		for method, query := range map[string]string{"GET": "?hub.mode=unsubscribe&foo=bar", "HEAD": "?challenge=x"} {
			if got := s.Do(method, s.path+query, ""); got.Status != 200 {
				t.Fatalf("%s gives %d %s", method, got.Status, got.Body)
			}
		}
	}
	if newest, count := s.kept(f); count > 0 {
		t.Errorf("probes are stored: %s", newest)
	}
	if got := s.Do("GET", "/api/hooks/cmi_unknown?challenge=x", ""); got.Status != 401 {
		t.Errorf("without the token, a handshake gives %d %s", got.Status, got.Body)
	}
	handshake := func() int { return s.Do("GET", s.path+"?challenge="+url.QueryEscape("x y"), "").Status }
	status, sent := handshake(), 1
	for ; status == 200; sent++ {
		status = handshake()
	}
	if status != 429 {
		t.Errorf("handshake %d gives %d", sent, status)
	}
}
