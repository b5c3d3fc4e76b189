package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/tidwall/gjson"

	"contactbase/internal/delivery"
	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// writeEvents writes events about a contact, without deliveries, and returns their ids as receivers see them.
func writeEvents(tb testing.TB, app core.App, tenant, contact string, n int) (ids []string) {
	tb.Helper()
	err := app.RunInTransaction(func(tx core.App) error {
		for i := range n {
			e := &event.Event{Kind: event.ContactUpdated, TenantID: tenant, Contact: contact, Data: map[string]string{"name": fmt.Sprint(i)}}
			if err := testkit.WriteEvent(tx, e, time.Now()); err != nil {
				return err
			}
			ids = append(ids, event.IDPrefix+e.ID)
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	return ids
}

// What was written while no engine ran is fanned out in chunks and goes out in its order, as does what another process
// writes beside the engine, which nobody wakes.
func TestEngineFansOut(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	arrived := make(chan string, 1000)
	testkit.Webhook(t, app, tenant, receiver(t, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		arrived <- gjson.GetBytes(body, "id").String()
	}), "")
	testkit.AddContact(t, app, tenant, "ada")
	want := writeEvents(t, app, tenant, "ada", 130)
	start(t, app, delivery.Options{})
	var got []string
	for range want {
		got = append(got, receive(t, arrived))
	}
	late := writeEvents(t, testkit.Reopen(t, app), tenant, "ada", 2)
	for range late {
		got = append(got, receive(t, arrived))
	}
	if want = append(want, late...); !slices.Equal(got, want) {
		t.Errorf("it went out as %v, not %v", got, want)
	}
}

// troubledFanOut has a backlog that never ends, or that cannot be fanned out.
type troubledFanOut struct {
	delivery.Queue
	err error
}

func (s troubledFanOut) FanOut(context.Context, time.Time) (delivery.FannedOut, error) {
	return delivery.FannedOut{More: s.err == nil}, s.err
}

// What is due goes out while there is more to fan out, and if that fails.
func TestEngineSendsBesideFanOut(t *testing.T) {
	t.Parallel()
	for name, wrong := range map[string]error{"endless": nil, "failing": errors.New("database is locked")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			tenant := testkit.Tenant(t, app, "Acme")
			arrived := make(chan struct{}, 10)
			testkit.Webhook(t, app, tenant, receiver(t, func(http.ResponseWriter, *http.Request) { arrived <- struct{}{} }), "")
			testkit.Emit(t, app, tenant, "", event.ContactUpdated)
			start(t, app, delivery.Options{Queue: troubledFanOut{testkit.Deliveries(app), wrong}})
			receive(t, arrived)
		})
	}
}
