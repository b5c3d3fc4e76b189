package hooks_test

import (
	"strings"
	"testing"

	"contactbase/internal/testkit"
)

// No request of a superuser creates, changes or deletes events: webhooks and the feed rely on them.
func TestEventsCannotBeChanged(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	root := testkit.NewClient(t, d.base, "")
	root.Header.Set("Authorization", testkit.SuperuserToken(t, d.app))
	rows := func() string {
		t.Helper()
		var found string
		if err := d.app.DB().NewQuery("SELECT group_concat(id || tenant || type || contact || payload || created) FROM events").Row(&found); err != nil {
			t.Fatal(err)
		}
		return found
	}
	before := rows()
	record, err := d.app.FindFirstRecordByData("events", "tenant", d.acme.tenant)
	if err != nil {
		t.Fatal(err)
	}
	path := in("events", record.Id)
	forged := `{"tenant":"` + d.acme.tenant + `","type":"contact.deleted","contact":"x"}`
	for _, request := range [][3]string{
		{"POST", in("events", ""), forged},
		{"PATCH", path, `{"payload":{}}`},
		{"PATCH", path, `{"tenant":"` + d.other.tenant + `"}`},
		{"DELETE", path, ""},
		{"DELETE", "/api/collections/events/truncate", ""},
		{"DELETE", "/api/collections/events", ""},
		{"POST", "/api/batch", `{"requests":[{"method":"POST","url":"` + in("events", "") + `","body":` + forged + `}]}`},
		{"POST", "/api/batch", `{"requests":[{"method":"PATCH","url":"` + path + `","body":{"type":"contact.deleted"}}]}`},
		{"POST", "/api/batch", `{"requests":[{"method":"PUT","url":"` + in("events", "") + `","body":{"id":"` + record.Id + `","type":"contact.deleted"}}]}`},
		{"POST", "/api/batch", `{"requests":[{"method":"DELETE","url":"` + path + `"}]}`},
	} {
		if got := root.Do(request[0], request[1], request[2]); got.Status != 400 && got.Status != 403 {
			t.Errorf("%v gives %d %s", request, got.Status, got.Body)
		}
	}
	if got := root.Do("DELETE", path, ""); got.Status != 403 || !strings.Contains(string(got.Body), "delete the contact") {
		t.Errorf("a deletion gives %d %s", got.Status, got.Body)
	}
	if after := rows(); after != before {
		t.Errorf("the events were %s and are %s", before, after)
	}
}
