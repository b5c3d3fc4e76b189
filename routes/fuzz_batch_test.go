package routes_test

import (
	"net/http"
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// FuzzBatch sends any batch. The response has a result for each item, or is a client error in the envelope.
func FuzzBatch(f *testing.F) {
	base := newFuzzAPI(f)
	for _, body := range []string{
		`{"items":[{"action":"create","contact":{"name":"Ada"}},{"action":"upsert","match":"email","contact":{"email":"ada@example.com"}}]}`,
		`{"atomic":true,"items":[{"action":"upsert","contact":{"externalId":"x","name":"a"}},{"action":"update","id":"x","contact":{}}]}`,
		`{"items":[{"action":"create","contact":{"name":1}},{"action":"delete"},{"contact":null},null,1,"x",[],{}]}`,
		`{"items":[]}`, `{"items":{}}`, `{"items":null,"atomic":1}`, `{"items":[{"action":"upsert","match":"phone","contact":{"phone":"+1"}}],"x":1}`,
		`{"items":[` + strings.Repeat(`{},`, 101) + `{}]}`, `[]`, `null`, `{`, ``, "\xff", `{"items":[{"action":"create","action":"update","id":"","contact":{"name":"a","name":"b"}}]}`,
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base.Base+batchPath, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header = base.Header.Clone()
		request.Header.Set("Content-Type", "application/json")
		// not with the client, which checks requests that succeed: a batch succeeds with invalid items
		response, err := base.HTTP.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		answer := testkit.ReadAnswer(t, response)
		switch {
		case answer.Status == http.StatusOK:
			data, count := answer.Data(), 0
			for _, outcome := range []string{"created", "updated", "unchanged", "failed"} {
				n, _ := data[outcome].(float64)
				count += int(n)
			}
			if results, _ := data["results"].([]any); len(results) != count || count == 0 {
				t.Errorf("%q gives %s", body, answer.Body)
			}
		case answer.Status < 400 || answer.Status >= 500 || answer.Code() == "":
			t.Errorf("%q gives %d %s", body, answer.Status, answer.Body)
		}
	})
}
