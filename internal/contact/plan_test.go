package contact_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"
	"pgregory.net/rapid"

	"contactbase/internal/contact"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// plans has what a random history of plans meets: an admin's unique indexes, a relation and a custom field.
type plans struct {
	*book
	model []map[string]string // the contacts, the oldest first, by field; "id" is what the server chose
}

var plannedFields = []string{"name", "email", "phone", "externalId", "note"}

// A plan does to the contacts what the same items do to a list in memory, one after the other, and a preview tells it
// exactly. Only the database checks an index with an expression, which no preview foresees.
func TestPlanAgainstAModel(t *testing.T) {
	t.Parallel()
	for column, isForeseen := range map[string]bool{"`note` COLLATE NOCASE": true, "lower(`note`)": false} {
		t.Run(column, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			testkit.ChangeContacts(t, b.App, func(c *core.Collection) {
				c.Fields.Add(&core.TextField{Name: "note"}, &core.RelationField{Name: "boss", CollectionId: c.Id, MaxSelect: 1})
				c.Indexes = append(c.Indexes,
					"CREATE UNIQUE INDEX `own_phone` ON `contacts` (`tenant`, `phone`) WHERE `phone` != ''",
					"CREATE UNIQUE INDEX `own_note` ON `contacts` (`tenant`, "+column+") WHERE `note` != ''")
			})
			rapid.Check(t, func(rt *rapid.T) {
				p := &plans{book: &book{Book: *b.Other()}}
				for range rapid.IntRange(1, 4).Draw(rt, "calls") {
					p.compare(rt, rapid.SliceOfN(rapid.Custom(p.item), 1, 12).Draw(rt, "items"), isForeseen)
				}
			})
		})
	}
}

// compare previews and commits items, and compares both with the model.
func (p *plans) compare(rt *rapid.T, items []contact.Item, isForeseen bool) {
	want := make([]string, len(items))
	for i, item := range items {
		want[i] = p.apply(item)
	}
	previewed, err := contact.Preview(p.App, p.Tenant, items)
	if err != nil {
		rt.Fatal(err)
	}
	written := p.commit(rt, items)
	for i := range items {
		if got := outline(written[i]); got != want[i] {
			rt.Fatalf("item %d, %+v, gives %s, want %s", i, items[i], got, want[i])
		}
		if got := outline(previewed[i]); got != want[i] && isForeseen {
			rt.Fatalf("item %d, %+v, is previewed as %s, want %s", i, items[i], got, want[i])
		}
	}
	p.learn(rt)
}

// item draws an item, which often meets a contact of an earlier one.
func (p *plans) item(rt *rapid.T) contact.Item {
	text := func(field string, values ...string) string { return rapid.SampledFrom(values).Draw(rt, field) }
	changes := contact.Changes{}
	for i, choices := range [][]string{
		{"", "Ada", "Zoë"}, {"", "a@example.com", "A@example.com", "b@example.com"}, {"", "", "+491", "+492"}, {"", "", "x", "y", "z"}, {"", "", "n", "N"},
	} {
		if field := plannedFields[i]; rapid.Bool().Draw(rt, "sends "+field) {
			changes[field] = text(field, choices...)
		}
	}
	item := contact.Item{Action: rapid.SampledFrom([]contact.Action{contact.Create, contact.Update, contact.Upsert, contact.Delete}).Draw(rt, "action"), Changes: changes}
	if item.Action == contact.Create {
		return item
	}
	ids := []string{"nobody000000000"}
	for _, c := range p.model {
		if c["id"] != "" {
			ids = append(ids, c["id"])
		}
	}
	item.Keys = rapid.SliceOfN(rapid.SampledFrom([]contact.Key{
		{Field: contact.ID, Value: rapid.SampledFrom(ids).Draw(rt, "id")},
		{Field: contact.ExternalID, Value: text("key", "x", "y", "z")},
		{Field: contact.Email, Value: text("address", "A@EXAMPLE.COM", "b@example.com")},
	}), 1, 2).Draw(rt, "keys")
	return item
}

// apply applies an item to the model, and returns its outline.
func (p *plans) apply(item contact.Item) string {
	at := -1
	for _, key := range item.Keys {
		at = slices.IndexFunc(p.model, func(c map[string]string) bool { return key.Value != "" && strings.EqualFold(c[key.Field], key.Value) })
		if at >= 0 {
			break
		}
	}
	switch {
	case at < 0 && (item.Action == contact.Update || item.Action == contact.Delete):
		return "failed []"
	case item.Action == contact.Delete:
		c := p.model[at]
		p.model = slices.Delete(p.model, at, at+1)
		return "deleted " + values(c)
	}
	status, after := contact.Created, map[string]string{}
	if at >= 0 {
		status = contact.Updated
		for field, value := range p.model[at] {
			after[field] = value
		}
	}
	for field, value := range item.Changes {
		after[field] = value.(string)
	}
	if after["name"] == "" && after["email"] == "" {
		return "failed [email name]"
	}
	for _, field := range []string{"externalId", "phone", "note"} {
		other := slices.IndexFunc(p.model, func(c map[string]string) bool {
			return after[field] != "" && (c[field] == after[field] || field == "note" && strings.EqualFold(c[field], after[field]))
		})
		if other >= 0 && other != at {
			return "failed [" + field + "]"
		}
	}
	if at < 0 {
		p.model = append(p.model, after)
		return string(status) + " " + values(after)
	}
	if values(after) == values(p.model[at]) {
		status = contact.Unchanged
	}
	p.model[at] = after
	return string(status) + " " + values(after)
}

func values(c map[string]string) string {
	shown := make([]string, len(plannedFields))
	for i, field := range plannedFields {
		shown[i] = c[field]
	}
	return strings.Join(shown, "|")
}

// outline returns what apply returns, of a result.
func outline(r contact.Result) string {
	if r.Wrong != nil {
		var names []string
		for name := range r.Wrong.Fields {
			names = append(names, name)
		}
		slices.Sort(names)
		return fmt.Sprint("failed ", names)
	}
	shown := map[string]string{}
	for name, value := range r.Contact.Values() {
		if value != nil {
			shown[name] = fmt.Sprint(value)
		}
	}
	return string(r.Status) + " " + values(shown)
}

func (p *plans) commit(rt rapid.TB, items []contact.Item) (results []contact.Result) {
	request := contact.Request{
		Tenant: p.Tenant, Items: items, Check: func(sqlite.Reader) error { return nil },
		Finish: func(_ sqlite.Reader, done []contact.Result) ([]sqlite.Statement, error) {
			results = done
			return nil, nil
		},
	}
	if err := request.Commit(context.Background(), p.App); err != nil {
		rt.Fatal(err)
	}
	return results
}

// learn compares the stored contacts and their events with the model, which learns the ids.
func (p *plans) learn(rt *rapid.T) {
	stored := p.List("limit=200")
	if len(stored) != len(p.model) {
		rt.Fatalf("%d contacts are stored, want %d", len(stored), len(p.model))
	}
	for i, c := range stored {
		if got := strings.TrimPrefix(outline(contact.Result{Contact: c}), " "); got != values(p.model[i]) {
			rt.Fatalf("contact %d is %s, want %s", i, got, values(p.model[i]))
		}
		p.model[i]["id"] = c.ID
	}
	events, err := sqlite.Value[float64](sqlite.Direct(p.App.ConcurrentDB()),
		"SELECT total(iif(type = 'contact.created', 1, iif(type = 'contact.deleted', -1, 0))) FROM events WHERE tenant = ?", p.Tenant)
	if err != nil || int(events) != len(p.model) {
		rt.Fatalf("the events leave %g contacts, want %d (%v)", events, len(p.model), err)
	}
}

// An index that a plan does not look into, such as one with a time, refuses a contact in the database. That
// item fails alone.
func TestIndexThatPlansLeaveOut(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	testkit.ChangeContacts(t, b.App, func(c *core.Collection) {
		c.Indexes = append(c.Indexes, "CREATE UNIQUE INDEX `own` ON `contacts` (`tenant`, `name`, substr(`created`, 1, 2)) WHERE `name` != ''")
	})
	p := &plans{book: b}
	create := func(fields contact.Changes) contact.Item {
		return contact.Item{Action: contact.Create, Changes: fields}
	}
	for _, items := range [][]contact.Item{
		{create(contact.Changes{"name": "Ada"})},
		{create(contact.Changes{"name": "Ada", "email": "one@example.com"})}, // alone
		{
			create(contact.Changes{"name": "Grace"}),
			create(contact.Changes{"name": "Ada", "externalId": "x"}),
			{Action: contact.Upsert, Keys: []contact.Key{{Field: contact.ExternalID, Value: "x"}}, Changes: contact.Changes{"name": "Hedy", "externalId": "x"}},
			create(contact.Changes{"name": "Grace"}),
			create(contact.Changes{"name": "Zoë"}),
		},
	} {
		for i, result := range p.commit(t, items) {
			if want := (i == 0 && items[0].Changes["email"] != nil) || i == 1 || i == 3; (result.Status == contact.Failed) != want || !want && result.Status != contact.Created {
				t.Errorf("item %d of %d: %+v", i, len(items), result)
			}
		}
	}
	names := make([]string, 0, 4)
	for _, c := range b.List("limit=200&q=") {
		names = append(names, c.Name)
	}
	if want := []string{"Ada", "Grace", "Hedy", "Zoë"}; !slices.Equal(names, want) {
		t.Errorf("%q are stored, want %q", names, want)
	}
	events, err := b.App.CountRecords("events")
	if found := testkit.Count(t, b.App, "SELECT count(*) FROM _contactSearch", nil); err != nil || events != 4 || found != 4 {
		t.Errorf("%d events and %d search rows, want 4 (%v)", events, found, err)
	}
}
