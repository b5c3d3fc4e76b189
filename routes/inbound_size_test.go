package routes_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"contactbase/internal/inbound/payload"
	"contactbase/internal/testkit"
	"contactbase/internal/wire"
)

// shown returns the last request as superusers see it: in a list, by itself, and in the details of the page.
func shown(t *testing.T, f *fixture, admin *testkit.Client) (id string, bodies [3]string, isStored any) {
	t.Helper()
	const records = "/api/collections/inbound_requests/records"
	if err := f.App.DB().NewQuery("SELECT id FROM inbound_requests ORDER BY rowid DESC LIMIT 1").Row(&id); err != nil {
		t.Fatal(err)
	}
	list := admin.Do("GET", records+"?filter=id='"+id+"'", "").JSON()["items"].([]any)[0].(map[string]any)
	details := admin.Do("GET", "/api/integrations/inbound/requests/"+id+"/details", "").Data()
	return id, [3]string{
		list["body"].(string), admin.Do("GET", records+"/"+id, "").JSON()["body"].(string), details["body"].(string),
	}, details["stored"]
}

// texts returns a JSON list of 50 KiB texts that can hardly be compressed.
func texts(count int) string {
	var list []string
	for i := range count {
		list = append(list, `"`+testkit.Noise(uint64(i), 50<<10)+`"`)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// Attachments are left out of what is read and stored. The rest is stored compressed, shown as text, and can be replayed
// and tried, unless it takes too much even so.
func TestInboundSizes(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s, admin := newSender(t, f, "upsert", nil), newAdmin(t, f)
	large := strings.Repeat("QUJD", 500_000)
	part := func(name, file, text string) string {
		return fmt.Sprintf("--b\r\nContent-Disposition: form-data; name=%q%s\r\n\r\n%s\r\n", name, file, text)
	}
	const asMultipart = "multipart/form-data; boundary=b"
	for name, tt := range map[string]struct {
		contentType, body, want, warning string
		isStored                         bool
	}{
		"a small body": {"application/json", `{"email":"a@example.com"}`, "created:1", "", true},
		"an attachment": {"application/json", `{"email":"b@example.com","files":[{"name":"cv","data":"` + large + `"}]}`,
			"created:1", `ignored: "files.0.data"`, true},
		"a field of a form": {"application/x-www-form-urlencoded", "email=c%40example.com&scan=" + large,
			"created:1", `ignored: "scan"`, true},
		"a part of a form": {asMultipart, part("email", "", "d@example.com") + part("scan", "", large) + "--b--\r\n",
			"created:1", `ignored: "scan"`, true},
		"a file": {asMultipart,
			part("email", "", "e@example.com") + part("scan", `; filename="cv.pdf"`, large+"\x00\xff") + "--b--\r\n",
			"created:1", `files are not stored; ignored: "scan"`, true},
		"much of the same": {"application/json",
			`{"email":"f@example.com","lines":[` + strings.Repeat(`"the same line of text again and again and again",`, 90_000) + `0]}`,
			"created:1", `ignored: "lines"`, true},
		"much that is not": {"application/json", `{"email":"g@example.com","texts":` + texts(60) + `}`, "created:1", `ignored: "texts"`, false},
		"refused":          {"application/json", `{"friend":"h@example.com","texts":` + texts(60) + `}`, "400 validation_failed", "", false},
		"not JSON":         {"application/json", testkit.Noise(1, payload.MaxBody), "400 invalid_json", "", false},
	} {
		got := s.expect(tt.want, tt.body, "Content-Type", tt.contentType)
		if !strings.Contains(string(got.Body), strings.ReplaceAll(tt.warning, `"`, `\"`)) {
			t.Errorf("%s has other warnings: %.300s", name, got.Body)
		}
		id, bodies, isStored := shown(t, f, admin)
		replay := admin.Do("POST", "/api/integrations/inbound/requests/"+id+"/replay", "")
		try := admin.Do("POST", "/api/integrations/inbound/preview",
			fmt.Sprintf(`{"tenant":%q,"body":%s}`, f.tenant, wire.AppendString(nil, bodies[2])))
		for i, body := range bodies {
			switch {
			case isStored != tt.isStored:
				t.Errorf("%s has stored: %v", name, isStored)
			case tt.isStored && (!strings.Contains(body, "example.com") || strings.Contains(body, large)):
				t.Errorf("%s is shown at %d as %.200s", name, i, body)
			case !tt.isStored && (!strings.Contains(body, "too large to keep") || len(body) > 1000 ||
				tt.warning != "" && !strings.Contains(body, `"texts"`)):
				t.Errorf("%s is shown at %d as %.200s", name, i, body)
			}
		}
		if bodies[1] != bodies[2] || len(bodies[2]) > 5<<20 {
			t.Errorf("%s is shown in %d and in %d bytes", name, len(bodies[1]), len(bodies[2]))
		}
		switch {
		case tt.isStored && (replay.Status != http.StatusOK || try.Status != http.StatusOK):
			t.Errorf("%s cannot be repeated: %s %s", name, replay.Body, try.Body)
		case !tt.isStored && (replay.Status != http.StatusConflict || replay.Code() != "not_stored"):
			t.Errorf("the replay of %s is answered %d %s", name, replay.Status, replay.Body)
		}
	}
	s.expect("413 payload_too_large", `{"email":"a@example.com","file":"`+strings.Repeat("a", payload.MaxBody)+`"}`)
}

// A list shows what becomes much only in part, also where requests are in other records.
func TestInboundBodiesAreBounded(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s, admin := newSender(t, f, "upsert", nil), newAdmin(t, f)
	bomb := `{"email":"a@example.com","lines":[` + strings.Repeat(`"the same line of text again and again and again",`, 90_000) + `0]}`
	const count = 12
	for range count {
		s.post(bomb)
	}
	var ids []string
	if err := f.App.DB().NewQuery("SELECT id FROM inbound_requests").Column(&ids); err != nil {
		t.Fatal(err)
	}
	filter := "id='" + strings.Join(ids, "'||id='") + "'"
	for path, most := range map[string]int{
		"/api/collections/inbound_requests/records?perPage=500&filter=" + url.QueryEscape(filter): 24 << 20,
		"/api/collections/inbound_webhooks/records?expand=inbound_requests_via_inbound":           1 << 20,
	} {
		got := admin.Do("GET", path, "")
		if number := strings.Count(string(got.Body), `a@example.com`); got.Status != 200 || number < count || len(got.Body) > most {
			t.Errorf("%s is answered %d with %d bodies in %d bytes", path, got.Status, number, len(got.Body))
		}
	}
}
