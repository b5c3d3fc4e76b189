package storetest

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"
)

// testLeave has a delivery leave its line, so that the next one goes.
func testLeave(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	first, second := f.Emit(t, tenant, "contact1", f.now), f.Emit(t, tenant, "contact1", f.now)
	f.place(t)
	leaving := f.placed(t, first, webhook)[0]
	if err := f.Transact(func(tx core.App) error { return f.store.Dequeue(tx, leaving) }); err != nil {
		t.Fatal(err)
	}
	f.claimOnly(t, f.placed(t, second, webhook)[0])
}

// testDeleteDeliveries deletes those to one webhook, a few at a time. What they say of a contact that is gone is erased,
// unless another webhook is still to get it.
func testDeleteDeliveries(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	gone := f.AddWebhook(t, tenant, f.now)
	alone := f.Emit(t, tenant, "contact1", f.now)
	f.placeAll(t)
	kept := f.AddWebhook(t, tenant, f.now)
	shared := f.Emit(t, tenant, "contact1", f.now)
	other := f.Emit(t, tenant, "contact2", f.now)
	f.placeAll(t)
	f.DeleteContact(t, "contact1")
	for _, want := range []int{2, 1, 0} {
		err := f.Transact(func(tx core.App) error {
			found, err := f.store.DeleteDeliveries(tx, gone, 2)
			if found != want {
				t.Errorf("found %d deliveries instead of %d", found, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	f.placed(t, alone)
	f.placed(t, shared, kept)
	f.placed(t, other, kept)
	if !f.Erased(t, alone) || f.Erased(t, shared) || f.Erased(t, other) {
		t.Errorf("erased are %v, %v and %v", f.Erased(t, alone), f.Erased(t, shared), f.Erased(t, other))
	}
}
