package contact_test

import (
	"fmt"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
)

// A relation takes the rows of the contact's own tenant alone, whichever way it is written. The id of another
// tenant's row gets the answer of an id that nobody has, to the letter.
func TestRelationsTakeTheTenantsRows(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]func(b *book) writer{
		"records":   func(b *book) writer { return records{b} },
		"functions": func(b *book) writer { return functions{b} },
		"items":     func(b *book) writer { return items{functions{b}} },
	} {
		for _, most := range []int{1, 9} {
			t.Run(fmt.Sprintf("%s, up to %d", name, most), func(t *testing.T) {
				t.Parallel()
				b := newBook(t)
				own, alien := b.Add(map[string]any{"name": "Own"}).ID, b.Other().Add(map[string]any{"name": "Alien"}).ID
				testkit.ChangeContacts(t, b.App, func(contacts *core.Collection) {
					contacts.Fields.Add(&core.RelationField{Name: "friends", CollectionId: contacts.Id, MaxSelect: most})
				})
				b.Add(map[string]any{"externalId": "ada", "name": "Ada"})
				set := func(id string) (created, updated error) {
					friends := fmt.Sprintf(`"friends":%q`, id)
					if most > 1 {
						friends = fmt.Sprintf(`"friends":[%q]`, id)
					}
					return way(b).create(`{"name":"New",` + friends + `}`), way(b).update("ada", "{"+friends+"}")
				}
				if created, updated := set(own); created != nil || updated != nil {
					t.Errorf("an own contact: %v, %v", created, updated)
				}
				aliens, nobodys := [2]error{}, [2]error{}
				aliens[0], aliens[1] = set(alien)
				nobodys[0], nobodys[1] = set("nobody000000000")
				for i := range aliens {
					if aliens[i] == nil || nobodys[i] == nil || aliens[i].Error() != nobodys[i].Error() {
						t.Errorf("another tenant's contact: %v; nobody's: %v", aliens[i], nobodys[i])
					}
				}
			})
		}
	}
}
