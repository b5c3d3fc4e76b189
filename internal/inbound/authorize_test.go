package inbound_test

import (
	"errors"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/inbound"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// An admin may revoke access between a request's authorization and its transaction. Whether it was applied or
// rejected, it then leaves nothing that would never be deleted.
func TestWhatLetACallInIsCheckedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, change string
		want         error
		kept         int
	}{
		{"nothing", "UPDATE inbound_webhooks SET name = 'x'", nil, 2},
		{"deleted", "DELETE FROM inbound_webhooks", inbound.ErrInvalidToken, 0},
		{"disabled", "UPDATE inbound_webhooks SET disabled = 1", inbound.ErrInvalidToken, 1},
		{"rotated", "UPDATE inbound_webhooks SET tokenHash = 'x'", inbound.ErrInvalidToken, 1},
		{"another tenant's", "UPDATE inbound_webhooks SET tenant = 'x'", inbound.ErrInvalidToken, 0},
		{"the feature switched off", "UPDATE tenants SET apiEnabled = 0", tenant.ErrNotEnabled, 1},
		{"the tenant deleted", "DELETE FROM tenants", inbound.ErrInvalidToken, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			tenant := testkit.Tenant(t, app, "Acme")
			webhook, err := inbound.FindByToken(app, testkit.Inbound(t, app, tenant, inbound.AccessUpsert, nil))
			if err != nil {
				t.Fatal(err)
			}
			body := []byte(`{"name":"A"}`)
			request, err := inbound.Read(app, webhook, "application/json", body)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := app.NonconcurrentDB().NewQuery(tt.change).Execute(); err != nil {
				t.Fatal(err)
			}
			err = app.RunInTransaction(func(tx core.App) error {
				_, err := request.Receive(tx, time.Now())
				return err
			})
			if !errors.Is(err, tt.want) {
				t.Errorf("applying gives %v, not %v", err, tt.want)
			}
			if err := inbound.Record(t.Context(), app, webhook, "application/json", body, 400, "refused", time.Now()); err != nil {
				t.Error(err)
			}
			contacts := 0
			if tt.want == nil {
				contacts = 1
			}
			for table, want := range map[string]int{"contacts": contacts, "events": contacts, "inbound_requests": tt.kept} {
				if got, err := app.CountRecords(table); err != nil || int(got) != want {
					t.Errorf("%d %s are there, not %d (%v)", got, table, want, err)
				}
			}
		})
	}
}

// If a tenant is deleted while its request is applied, for example by an admin's trigger, the request fails.
func TestTenantDeletedWithinACall(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Record(t, app, "contacts", map[string]any{"tenant": tenant, "email": "a@example.com"})
	webhook, err := inbound.FindByToken(app, testkit.Inbound(t, app, tenant, inbound.AccessUpsert, nil))
	if err != nil {
		t.Fatal(err)
	}
	request, err := inbound.Read(app, webhook, "application/json", []byte(`[{"email":"a@example.com","name":"A"},{"name":"B"}]`))
	if err != nil {
		t.Fatal(err)
	}
	const trigger = "CREATE TRIGGER last AFTER UPDATE ON contacts BEGIN DELETE FROM tenants; END"
	if _, err := app.NonconcurrentDB().NewQuery(trigger).Execute(); err != nil {
		t.Fatal(err)
	}
	err = request.Transact(t.Context(), app, func(tx core.App) error {
		_, err := request.Receive(tx, time.Now())
		return err
	})
	if !errors.Is(err, inbound.ErrInvalidToken) {
		t.Errorf("applying gives %v", err)
	}
	if n, err := app.CountRecords("tenants"); err != nil || n != 1 {
		t.Errorf("the refused request has written: %d tenants, %v", n, err)
	}
}

// A superuser may replay a request of a webhook that has been disabled.
func TestDisabledWebhookMayBeReplayed(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Inbound(t, app, testkit.Tenant(t, app, "Acme"), inbound.AccessUpsert, map[string]any{"disabled": true})
	record, err := app.FindFirstRecordByFilter(inbound.CollectionName, "disabled = true")
	if err != nil {
		t.Fatal(err)
	}
	webhook, err := inbound.FindByID(app, record.Id)
	if err != nil {
		t.Fatal(err)
	}
	request, err := inbound.Read(app, webhook, "application/json", []byte(`{"name":"A"}`))
	if err != nil {
		t.Fatal(err)
	}
	err = app.RunInTransaction(func(tx core.App) error {
		receipt, err := request.Receive(tx, time.Now())
		if err == nil && receipt.Outcome.Created != 1 {
			t.Errorf("got %+v", receipt)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
