package routes_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// A violation of an admin's unique index is that client's error: others in the same commit succeed.
func TestUniqueIndexOfAnAdmin(t *testing.T) {
	t.Parallel()
	for name, own := range map[string][]core.Field{"shipped fields": nil, "an admin's field": {&core.TextField{Name: "note"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, f := newAPI(t)
			sqlite.Bind(f.App) // writes share commits, as in production
			testkit.AddFields(t, f.App, own...)
			testkit.ChangeContacts(t, f.App, func(contacts *core.Collection) {
				contacts.AddIndex("idx_own_email", true, "tenant, email", "email != ''")
			})
			first := client.Do("POST", contactsPath, `{"email":"taken@example.com"}`)
			if first.Status != 201 {
				t.Fatalf("the first gives %d %s", first.Status, first.Body)
			}
			var all sync.WaitGroup
			for i := range 30 {
				all.Go(func() {
					own := testkit.NewClient(t, f.base, client.Header.Get("X-API-Key"))
					if i%3 == 0 {
						if got := own.Do("POST", contactsPath, `{"email":"taken@example.com"}`); got.Status != 400 || got.FieldCode("email") != "invalid_type" {
							t.Errorf("a taken address gives %d %s", got.Status, got.Body)
						}
						return
					}
					created := own.Do("POST", contactsPath, fmt.Sprintf(`{"email":"p%d@example.com"}`, i))
					if created.Status != 201 {
						t.Errorf("another one gives %d %s", created.Status, created.Body)
						return
					}
					path := contactsPath + "/" + created.Data()["id"].(string)
					if got := own.Do("PATCH", path, `{"email":"taken@example.com"}`); got.Status != 400 || got.FieldCode("email") != "invalid_type" {
						t.Errorf("changing to a taken address gives %d %s", got.Status, got.Body)
					}
				})
			}
			all.Wait()
		})
	}
}
