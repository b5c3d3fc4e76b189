package storetest

import (
	"testing"

	"contactbase/internal/delivery/store"

	"github.com/pocketbase/pocketbase/core"
)

// testDequeue dequeues a delivery, so that the next one is due.
func testDequeue(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	webhook := f.AddWebhook(t, tenant, f.now)
	first, second := f.Emit(t, tenant, "contact1", f.now), f.Emit(t, tenant, "contact1", f.now)
	f.fanOut(t)
	leaving := f.deliveries(t, first, webhook)[0]
	if err := f.Transact(func(tx core.App) error { return store.Dequeue(tx, leaving) }); err != nil {
		t.Fatal(err)
	}
	f.claimOnly(t, f.deliveries(t, second, webhook)[0])
}

// testDeleteDeliveries deletes those to one webhook, a few at a time. Their events of deleted contacts are redacted,
// unless another webhook still waits for them.
func testDeleteDeliveries(t *testing.T, f *fixture) {
	tenant := f.AddTenant(t)
	gone := f.AddWebhook(t, tenant, f.now)
	alone := f.Emit(t, tenant, "contact1", f.now)
	f.fanOutAll(t)
	kept := f.AddWebhook(t, tenant, f.now)
	shared := f.Emit(t, tenant, "contact1", f.now)
	other := f.Emit(t, tenant, "contact2", f.now)
	f.fanOutAll(t)
	f.DeleteContact(t, "contact1")
	for _, want := range []int{2, 1, 0} {
		err := f.Transact(func(tx core.App) error {
			found, err := store.DeleteDeliveries(tx, gone, 2)
			if found != want {
				t.Errorf("found %d deliveries instead of %d", found, want)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	f.deliveries(t, alone)
	f.deliveries(t, shared, kept)
	f.deliveries(t, other, kept)
	if !f.Erased(t, alone) || f.Erased(t, shared) || f.Erased(t, other) {
		t.Errorf("erased are %v, %v and %v", f.Erased(t, alone), f.Erased(t, shared), f.Erased(t, other))
	}
}
