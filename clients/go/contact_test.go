package contactbase_test

import (
	"encoding/json"
	"net/http"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	contactbase "contactbase/clients/go"
)

func TestContact(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t, answer(http.StatusOK, adaAnswer, "ETag", `"v1"`))
	got, err := client.Contacts.Get(t.Context(), "0mm8yqpxck3w9xa")
	if err != nil {
		t.Fatal(err)
	}
	want := contactbase.Contact{
		ID: "0mm8yqpxck3w9xa", Name: "Ada Lovelace", ExternalID: "crm-1815", ETag: `"v1"`, Custom: map[string]any{"newsletter": true},
		CreatedAt: time.Date(2026, 3, 2, 9, 15, 4, 512e6, time.UTC), UpdatedAt: time.Date(2026, 3, 4, 16, 20, 11, 87e6, time.UTC),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	stored, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	var again contactbase.Contact
	if err := json.Unmarshal(stored, &again); err != nil {
		t.Fatal(err)
	}
	want.ETag = ""
	if !reflect.DeepEqual(again, want) || !strings.Contains(string(stored), `"email":null`) {
		t.Errorf("as JSON it is %s, read again %+v", stored, again)
	}
}

func TestFields(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]contactbase.Fields{
		`{}`:                          {},
		`{"name":"Ada","phone":null}`: {Name: contactbase.String("Ada"), Phone: contactbase.String("")},
		`{"email":"a","externalId":"","vip":null}`: {Email: contactbase.String("a"), ExternalID: contactbase.String(""), Custom: map[string]any{"vip": nil}},
	} {
		var got contactbase.Fields
		if err := json.Unmarshal([]byte(body), &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %+v: %v", body, got, err)
		}
		written, err := json.Marshal(got)
		if again := strings.ReplaceAll(body, `"phone":null`, `"phone":""`); err != nil || string(written) != again {
			t.Errorf("%s is written as %s: %v", body, written, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"name":7}`), &contactbase.Fields{}); err == nil {
		t.Error("a number is taken for a name")
	}
}

func TestBatchResults(t *testing.T) {
	t.Parallel()
	client, _ := newClient(t, answer(http.StatusOK, `{"data":{"created":1,"updated":2,"deleted":5,"unchanged":3,"failed":4,"results":[
		{"index":0,"status":"created","contact":`+adaJSON+`},
		{"index":1,"status":"failed","error":{"code":"validation_failed","message":"No.","fields":{"email":{"code":"invalid_email","message":"is none"}}}}]}}`))
	got, err := client.Contacts.Batch(t.Context(), contactbase.Batch{})
	if err != nil || got.Created != 1 || got.Updated != 2 || got.Deleted != 5 || got.Unchanged != 3 || got.Failed != 4 || len(got.Results) != 2 {
		t.Fatalf("%+v, %v", got, err)
	}
	if first := got.Results[0]; first.Status != "created" || first.Contact.Name != "Ada Lovelace" || first.Error != nil {
		t.Errorf("%+v", first)
	}
	second := got.Results[1]
	if second.Index != 1 || second.Contact != nil || second.Error.Error() != "contactbase: validation_failed: No.; email is none" {
		t.Errorf("%+v", second)
	}
}

// Each code that has a constant is one of the document's.
func TestCodes(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("errors.go")
	if err != nil {
		t.Fatal(err)
	}
	generated, err := os.ReadFile("internal/api/api.gen.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`(?m)^\tCode\w+\s+= ("\w+")$`).FindAllStringSubmatch(string(source), -1)
	if len(codes) < 15 {
		t.Errorf("there are %d codes", len(codes))
	}
	for _, code := range codes {
		if !regexp.MustCompile(`ErrorCode\w+\s+ErrorCode = ` + code[1]).Match(generated) {
			t.Errorf("the document has no code %s", code[1])
		}
	}
}
