package integrations_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// Superusers see which fields have an index, and add one without rebuilding the others. Filters and backups find it
// in the collection.
func TestAddFilter(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	testkit.AddFields(t, f.App, &core.BoolField{Name: "vip"}, &core.JSONField{Name: "meta"})
	client.Do("POST", contactsPath, `{"name":"Ada","vip":true}`)
	admin := newAdmin(t, f)
	const filters = "/api/integrations/contacts/filters"
	if got := client.Do("GET", filters, "", "Authorization", "Bearer "+client.Header.Get("X-API-Key")); got.Status != 401 {
		t.Errorf("a key lists filters: %d", got.Status)
	}
	indexes := func(answer *testkit.Answer) string {
		var listed struct {
			Data struct {
				Contacts int
				Filters  []struct{ Field, Index string }
			}
		}
		if err := json.Unmarshal(answer.Body, &listed); err != nil || answer.Status != 200 || listed.Data.Contacts != 1 {
			t.Fatalf("%d %s, %v", answer.Status, answer.Body, err)
		}
		return fmt.Sprint(listed.Data.Filters)
	}
	if got := indexes(admin.Do("GET", filters, "")); got != "[{company } {vip }]" {
		t.Errorf("at first there are %s", got)
	}
	for range 2 {
		if got := indexes(admin.Do("POST", filters, `{"field":"vip"}`)); got != "[{company } {vip idx_contacts_vip}]" {
			t.Errorf("then there are %s", got)
		}
	}
	if got := client.Do("GET", contactsPath+"?vip=true", ""); got.Status != 200 || !strings.Contains(string(got.Body), "Ada") {
		t.Errorf("the filter gives %d %s", got.Status, got.Body)
	}
	stored, err := f.App.FindCollectionByNameOrId("contacts")
	if err != nil || stored.GetIndex("idx_contacts_vip") == "" {
		t.Errorf("the collection has the indexes %v, %v", stored.Indexes, err)
	}
	if n := testkit.Count(t, f.App, "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name IN ('idx_contacts_vip', 'idx_contacts_created')", nil); n != 2 {
		t.Errorf("the database has %d of two indexes", n)
	}
}
