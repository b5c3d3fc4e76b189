package routes_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/inbound/payload"
	"contactbase/internal/testkit"
)

// The documented payloads of real senders become the right contacts, by a preset or by common names.
func TestRealSenders(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../internal/inbound/payload/*/*/*.*")
	if err != nil {
		t.Fatal(err)
	}
	presets := map[string]bool{}
	for _, preset := range payload.Presets() {
		presets[preset.Name] = true
	}
	senders := map[string]bool{}
	for _, file := range files {
		sender := filepath.Base(filepath.Dir(file))
		if sender == "fuzz" || sender == "contactbase" || strings.HasSuffix(file, ".golden") {
			continue
		}
		senders[sender] = true
		t.Run(sender+"/"+filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			client, f := newAPI(t)
			more := map[string]any{}
			if presets[sender] {
				more["mapping"] = `{"preset":"` + sender + `"}`
			}
			body := read(t, file)
			golden := read(t, filepath.Join("../internal/inbound/payload/testdata", sender, filepath.Base(file)+".golden"))
			var want struct {
				Items []struct {
					Action string
					Fields map[string]any
				}
			}
			if err := json.Unmarshal(golden, &want); err != nil {
				t.Fatal(err)
			}
			answer := sendRaw(newSender(t, f, "upsert", more), body, contentType(file, body))
			for _, item := range want.Items {
				email, _ := item.Fields["email"].(string)
				if email == "" || item.Action != "upsert" {
					continue
				}
				if answer.Status != 200 {
					t.Fatalf("got %d %s", answer.Status, answer.Body)
				}
				var list struct{ Data []map[string]any }
				found := client.Do("GET", contactsPath+"?email="+url.QueryEscape(email), "")
				if err := json.Unmarshal(found.Body, &list); err != nil || len(list.Data) != 1 {
					t.Fatalf("the contact %s is not there: %s, answered %s", email, found.Body, answer.Body)
				}
				for field, value := range item.Fields {
					if got := list.Data[0][field]; field != "phone" && got != value {
						t.Errorf("%s is %v, not %v", field, got, value)
					}
				}
			}
		})
	}
	if len(senders) < 8 {
		t.Errorf("there are only %d senders", len(senders))
	}
}

func sendRaw(s *sender, body []byte, contentType string) *testkit.Answer {
	return s.Do("POST", s.path, string(body), "Content-Type", contentType)
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func contentType(file string, body []byte) string {
	switch filepath.Ext(file) {
	case ".form":
		return "application/x-www-form-urlencoded"
	case ".multipart":
		boundary, _, _ := strings.Cut(string(body), "\r\n")
		return "multipart/form-data; boundary=" + strings.TrimPrefix(boundary, "--")
	default:
		return "application/json"
	}
}

func TestInboundPreview(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	admin := newAdmin(t, f)
	const path = "/api/integrations/inbound/preview"
	for _, tc := range []struct {
		name, body string
		want       string
	}{
		{"an object", `{"tenant":"%s","body":{"email":"a@example.com","first_name":"A","last_name":"B"}}`, "created:1"},
		{"text of a form", `{"tenant":"%s","contentType":"application/x-www-form-urlencoded","body":"email=a%%40example.com"}`, "created:1"},
		{"a mapping", `{"tenant":"%s","body":{"x":{"mail":"a@example.com"}},"mapping":{"fields":{"email":"x.mail"}}}`, "created:1"},
		{"a deletion of nobody", `{"tenant":"%s","access":"full","body":{"email":"a@example.com","action":"delete"}}`, "ignored:1"},
		{"all fail", `{"tenant":"%s","body":{"phone":"x"}}`, "failed:1"},
	} {
		answer := admin.Do("POST", path, fmt.Sprintf(tc.body, f.tenant))
		if answer.Status != 200 || !strings.Contains(string(answer.Body), strings.ReplaceAll(`"`+tc.want, ":", `":`)) {
			t.Errorf("%s gives %d %s", tc.name, answer.Status, answer.Body)
		}
	}
	answer := admin.Do("POST", path, fmt.Sprintf(`{"tenant":"%s","body":{"email":"a@example.com","full_name":"A B"}}`, f.tenant))
	contact := answer.Data()["results"].([]any)[0].(map[string]any)["contact"].(map[string]any)
	if contact["name"] != "A B" || contact["email"] != "a@example.com" {
		t.Errorf("the contact would be %v", contact)
	}
	for _, collection := range []string{"contacts", "events", "inbound_requests"} {
		if total, err := f.App.CountRecords(collection); err != nil || total != 0 {
			t.Errorf("a preview leaves %d %s (%v)", total, collection, err)
		}
	}
	for _, bad := range []string{`{"tenant":"x","body":{}}`, `{"tenant":"` + f.tenant + `","access":"x","body":{}}`, `{"tenant":"` + f.tenant + `","mapping":{"x":1},"body":{}}`} {
		if got := admin.Do("POST", path, bad); got.Status != 400 || got.Code() != "validation_failed" {
			t.Errorf("%s gives %d %s", bad, got.Status, got.Body)
		}
	}
}

func TestInboundReplay(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "upsert", map[string]any{"mapping": `{"fields":{"email":"wrong.path"}}`})
	s.expect("400 validation_failed", `{"right":{"path":"a@example.com"}}`)
	request, err := f.App.FindFirstRecordByData("inbound_requests", "tenant", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	webhook, err := f.App.FindFirstRecordByData("inbound_webhooks", "tenant", f.tenant)
	if err != nil {
		t.Fatal(err)
	}
	webhook.Set("mapping", `{"fields":{"email":"right.path"}}`)
	if err := f.App.Save(webhook); err != nil {
		t.Fatal(err)
	}
	admin := newAdmin(t, f)
	answer := admin.Do("POST", "/api/integrations/inbound/requests/"+request.Id+"/replay", "")
	if answer.Status != 200 || answer.Data()["created"] != 1.0 {
		t.Errorf("the replay gives %d %s", answer.Status, answer.Body)
	}
	if got := admin.Do("POST", "/api/integrations/inbound/requests/unknown/replay", ""); got.Status != 404 {
		t.Errorf("an unknown request gives %d", got.Status)
	}
}

func TestMappingsAreChecked(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	testkit.AddFields(t, f.App, &core.TextField{Name: "plan"})
	admin := newAdmin(t, f)
	for mapping, status := range map[string]int{
		`{"preset":"typeform"}`: 200, `{"preset":"nobody"}`: 400, `{"fields":{"email":5}}`: 400, `{"surprise":1}`: 400, `null`: 200,
		`{"fields":{"id":"i","email":"e","plan":"p"}}`: 200, `{"fields":{"email":"e","plna":"p"}}`: 400, `{"preset":"stripe","fields":{"plna":"p"}}`: 400,
	} {
		got := admin.Do("POST", "/api/collections/inbound_webhooks/records", `{"tenant":"`+f.tenant+`","name":"x","access":"full","mapping":`+mapping+`}`)
		if got.Status != status {
			t.Errorf("%s gives %d %s", mapping, got.Status, got.Body)
		}
		if status == 400 && !strings.Contains(string(got.Body), `"mapping":{"code":"validation_invalid_mapping","message":"\"`) {
			t.Errorf("%s gives %s", mapping, got.Body)
		}
	}
}
