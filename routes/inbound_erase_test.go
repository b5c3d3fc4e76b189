package routes_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contactbase/internal/testkit"

	"github.com/pocketbase/dbx"
)

// Once a contact is deleted, no file of the data directory contains its email address or number, whether the inbound
// request was applied, failed or unreadable.
func TestErasedFromInbound(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	s := newSender(t, f, "full", nil)
	s.expect("created:1", `{"name":"Ada","email":"Ada.Lovelace@example.com","phone":"+442079460123"}`, "webhook-id", "d1")
	s.expect("updated:1", `name=Ada+L&email=ada.lovelace%40example.com&note=call+%2B442079460123`, "Content-Type", "application/x-www-form-urlencoded")
	multi := "--b\r\nContent-Disposition: form-data; name=\"email\"\r\n\r\nada.lovelace@example.com\r\n--b--\r\n"
	s.expect("unchanged:1", multi, "Content-Type", "multipart/form-data; boundary=b")
	s.expect("created:1 updated:1 failed:1", `[{"email":"ada.lovelace@example.com","company":"AE"},{"email":"bob@example.com"},{"email":"ada.lovelace@example.com","name":"`+strings.Repeat("x", 300)+`","phone":"+442079460123"}]`)
	s.expect("400 invalid_action", `{"email":"ada.lovelace@example.com","phone":"+442079460123","action":"merge ada.lovelace@example.com"}`)
	s.expect("400 validation_failed", `[{"friend":"ada\u002elovelace\u0040example.com"}]`)
	s.expect("400 invalid_json", `{"email":"ada.lovelace@example.com","phone":"+442079460123"`)
	s.expect("415 unsupported_media_type", `<email>ADA.lovelace@example.com</email>`, "Content-Type", "application/xml")
	s.expect("created:1", `{"name":"Bob's friend","email":"carol@example.com"}`)
	client.Do("POST", contactsPath, `{"name":"Dora","email":"dora@example.com"}`, "Idempotency-Key", "k")

	request, err := f.App.FindFirstRecordByFilter("inbound_requests", "status = 400")
	if err != nil {
		t.Fatal(err)
	}
	s.expect("deleted:1", `{"email":"ada.lovelace@example.com","phone":"+442079460123","action":"delete"}`, "webhook-id", "d2")
	testkit.Sweep(t, f.App)

	for _, db := range []string{"data", "auxiliary"} {
		for _, statement := range []string{"VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"} {
			in := f.App.NonconcurrentDB()
			if db == "auxiliary" {
				in = f.App.AuxNonconcurrentDB()
			}
			if _, err := in.NewQuery(statement).Execute(); err != nil {
				t.Fatal(err)
			}
		}
	}
	read := 0
	err = filepath.WalkDir(f.App.DataDir(), func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		content = bytes.ToLower(content)
		for _, secret := range []string{"lovelace", "2079460123", "u002elove", "ada%"} {
			if at := bytes.Index(content, []byte(secret)); at >= 0 {
				t.Errorf("%s holds %q: %q", filepath.Base(path), secret, content[max(0, at-80):min(len(content), at+80)])
			}
		}
		if bytes.Contains(content, []byte("carol@example.com")) {
			read++
		}
		return err
	})
	if err != nil || read == 0 {
		t.Errorf("the other contacts are in %d files (%v)", read, err)
	}

	admin := newAdmin(t, f)
	if got := admin.Do("POST", "/api/integrations/inbound/requests/"+request.Id+"/replay", ""); got.Status != 400 || got.FieldCode("id") != "invalid_value" {
		t.Errorf("replaying what is erased gives %d %s", got.Status, got.Body)
	}
	// repeats are still known, so that the contact is not created again
	s.expect("created:1", `{"name":"Ada","email":"Ada.Lovelace@example.com"}`, "webhook-id", "d1")
	s.expect("deleted:1", `{"email":"ada.lovelace@example.com","action":"delete"}`, "webhook-id", "d2")
	if total, err := f.App.CountRecords("contacts"); err != nil || total != 3 {
		t.Errorf("there are %d contacts (%v)", total, err)
	}
	for filter, want := range map[string]int64{"erased AND body = ''": 9, "NOT erased AND body != ''": 1} {
		if got, err := f.App.CountRecords("inbound_requests", dbx.NewExp(filter)); err != nil || got != want {
			t.Errorf("%d requests are %s, not %d (%v)", got, filter, want, err)
		}
	}
}

// The response to an inbound request is stored once, as the request's result, and deleted with it.
func TestInboundAnswerIsStoredOnce(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "upsert", nil)
	first := s.expect("created:1", `{"name":"A","plan":"x"}`, "webhook-id", "d")
	var stored struct {
		Body           string `db:"body"`
		Tenant         string `db:"tenant"`
		InboundRequest string `db:"inboundRequest"`
	}
	if err := f.App.DB().Select("body", "tenant", "inboundRequest").From("_idempotency").One(&stored); err != nil {
		t.Fatal(err)
	}
	if stored.Body != "" || stored.Tenant != f.tenant || stored.InboundRequest == "" {
		t.Errorf("remembered is %+v", stored)
	}
	if again := s.expect("created:1", `{"name":"A"}`, "webhook-id", "d"); string(again.Body) != string(first.Body) {
		t.Errorf("the repeat gives %s, not %s", again.Body, first.Body)
	}
	if _, err := f.App.NonconcurrentDB().NewQuery("DELETE FROM inbound_requests").Execute(); err != nil {
		t.Fatal(err)
	}
	s.expect("created:1", `{"name":"B"}`, "webhook-id", "d")
	if total, err := f.App.CountRecords("contacts"); err != nil || total != 2 {
		t.Errorf("there are %d contacts (%v)", total, err)
	}
}

// However many details the items have, the response stays within its limit.
func TestInboundAnswerIsBounded(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	s := newSender(t, f, "upsert", nil)
	var unknown strings.Builder
	for i := range 12 {
		fmt.Fprintf(&unknown, `,"%s%d":1`, strings.Repeat("é", 30), i)
	}
	for want, item := range map[string]string{
		"created:1000":         `{"name":"A"` + unknown.String() + `},`,
		"created:1 failed:999": `{"phone":"x"` + unknown.String()[:len(`,"`+strings.Repeat("é", 30)+`0":1`)*8] + `},`,
	} {
		body := "[" + strings.Repeat(item, 999) + `{"name":"last"}]`
		answer := s.expect(want, body)
		if len(answer.Body) > 256<<10 {
			t.Errorf("%s: the answer has %d bytes", want, len(answer.Body))
		}
	}
}
