package inbound_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/inbound"
	"contactbase/internal/testkit"
)

// A request does what its items would do in separate requests, in order, even if several items mean the same contact,
// are invalid, or violate an admin's index or field.
func TestCallIsTheSumOfItsItems(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(*core.Collection){
		"shipped":      func(*core.Collection) {},
		"unique phone": func(c *core.Collection) { c.AddIndex("idx_contacts_one_phone", true, "tenant, phone", "phone != ''") },
		"own field":    func(c *core.Collection) { c.Fields.Add(&core.TextField{Name: "nickname", Max: 5}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			testkit.ChangeContacts(t, app, prepare)
			seed := rand.Uint64()
			random := rand.New(rand.NewPCG(seed, 1))
			together, apart := newReceiver(t, app, "Together"), newReceiver(t, app, "Apart")
			for round := range 30 {
				items := make([]map[string]any, 1+random.IntN(20))
				for i := range items {
					items[i] = randomItem(random)
				}
				var want []inbound.Result
				for i, item := range items {
					outcome := apart.receive(item)
					outcome.Results[0].Index = i
					want = append(want, outcome.Results[0])
				}
				got := together.receive(items).Results
				for i := range want { // another tenant's ids
					if (got[i].ID == "") != (want[i].ID == "") {
						t.Errorf("the id of item %d is %q, alone %q", i, got[i].ID, want[i].ID)
					}
					got[i].ID, want[i].ID = "", ""
				}
				sent, _ := json.Marshal(items)
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, round %d: of %s\nbecame %+v\n one by one %+v", seed, round, sent, got, want)
				}
				if got, want := together.contacts(), apart.contacts(); !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, round %d: after %s\nthere is %v\n one by one %v", seed, round, sent, got, want)
				}
				if got, want := together.events(), apart.events(); !reflect.DeepEqual(got, want) {
					t.Fatalf("seed %d, round %d: after %s\nannounced is %v\n one by one %v", seed, round, sent, got, want)
				}
			}
		})
	}
}

func randomItem(random *rand.Rand) map[string]any {
	item := map[string]any{}
	put := func(name string, values ...any) {
		if i := random.IntN(len(values) + 1); i < len(values) {
			item[name] = values[i]
		}
	}
	put("externalId", "1", "2", "3", " 1", "")
	put("email", "anna@example.com", "Anna@Example.com", "zoë@example.com", "ZOË@example.com", "", "no address")
	put("name", "Anna", "Zoë \U0001F600", "quote \" back \\ slash", "<b>&", "line\nbreak", "zero\x00byte")
	put("phone", "+4930123456", "+4930123457", "")
	put("company", "A", "B")
	put("nickname", "short", "far too long")
	if random.IntN(6) == 0 {
		item["action"] = "delete"
	}
	return item
}

// receiver is a tenant with an inbound webhook.
type receiver struct {
	*testing.T
	app     core.App
	tenant  string
	webhook *inbound.Webhook
}

func newReceiver(t *testing.T, app core.App, name string) *receiver {
	t.Helper()
	tenant := testkit.Tenant(t, app, name)
	testkit.Webhook(t, app, tenant, "https://hooks.example.com", "")
	webhook, err := inbound.FindByToken(app, testkit.Inbound(t, app, tenant, inbound.AccessFull, nil))
	if err != nil {
		t.Fatal(err)
	}
	return &receiver{t, app, tenant, webhook}
}

func (r *receiver) receive(body any) *inbound.Outcome {
	r.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		r.Fatal(err)
	}
	request, err := inbound.Read(r.app, r.webhook, "application/json", encoded)
	if err != nil {
		r.Fatal(err)
	}
	var receipt *inbound.Receipt
	err = r.app.RunInTransaction(func(tx core.App) (err error) {
		receipt, err = request.Receive(tx, time.Now())
		return err
	})
	if err == nil {
		return receipt.Outcome
	}
	var refused *fault.Error
	if !errors.As(err, &refused) {
		r.Fatalf("%s: %v", encoded, err)
	}
	outcome, err := request.Preview(r.app)
	if err != nil || outcome.Failed != len(outcome.Results) {
		r.Fatalf("%s is refused as %q, but a preview gives %+v, %v", encoded, refused, outcome, err)
	}
	return outcome
}

func (r *receiver) list(query string) (rows []string) {
	r.Helper()
	if err := r.app.DB().NewQuery(query).Bind(dbx.Params{"tenant": r.tenant}).Column(&rows); err != nil {
		r.Fatal(err)
	}
	return rows
}

// contacts returns the tenant's contacts in order, with their search rows.
func (r *receiver) contacts() []string {
	r.Helper()
	return r.list("SELECT json_array(c.name, c.email, c.phone, c.company, c.externalId, c.created = c.updated, s.email, s.text) FROM contacts c " +
		"LEFT JOIN _contactSearch s ON s.contact = c.id AND s.tenant = c.tenant WHERE c.tenant = {:tenant} ORDER BY c.created, c.id")
}

// events returns the emitted events in order, with their names and their number of webhooks.
func (r *receiver) events() []string {
	r.Helper()
	testkit.FanOut(r, r.app)
	const columns = "json_array(type, payload -> '$.data.name', payload -> '$.data.externalId', json_remove(payload -> '$.previous', '$.updatedAt')"
	return r.list(fmt.Sprintf("SELECT %s, (SELECT count(*) FROM deliveries WHERE event = e.id)) FROM events e WHERE tenant = {:tenant} ORDER BY rowid", columns))
}
