package inbound_test

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/inbound"
	"contactbase/internal/testkit"
)

// Reading a large body takes long, and must not need the writer's connection.
func TestReadingHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	webhook := &inbound.Webhook{TenantID: testkit.Tenant(t, app, "Acme"), Access: inbound.AccessUpsert}
	var request *inbound.Request
	err := app.RunInTransaction(func(core.App) (err error) {
		request, err = inbound.Read(app, webhook, "application/json", []byte(`[{"name":"A","phone":"none","plan":"x"},{}]`))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := request.Preview(app)
	if err != nil || outcome.Created != 1 || outcome.Failed != 1 || len(outcome.Results[0].Warnings) != 2 {
		t.Errorf("got %+v, %v", outcome, err)
	}
}

// A property with the name of a custom field is that field, even where it means another.
func TestCustomFieldsComeFirst(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.AddFields(t, app, &core.TextField{Name: "billingEmail"})
	webhook := &inbound.Webhook{TenantID: testkit.Tenant(t, app, "Acme"), Access: inbound.AccessUpsert}
	request, err := inbound.Read(app, webhook, "application/json", []byte(`{"name":"A","billingEmail":"b@example.com","shippingEmail":"s@example.com"}`))
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := request.Preview(app)
	if err != nil || len(outcome.Results) != 1 || outcome.Results[0].Contact == nil {
		t.Fatalf("got %+v, %v", outcome, err)
	}
	created := outcome.Results[0].Contact
	if created.Email != "s@example.com" || len(created.Custom) != 1 || created.Custom[0].Value != "b@example.com" {
		t.Errorf("created %+v", created)
	}
}

// A tenant with a country reads its national phone numbers.
func TestNationalPhones(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	for country, want := range map[string]string{"DE": "+49305550144", "": ""} {
		tenant := testkit.Record(t, app, "tenants", map[string]any{"name": "Acme " + country, "country": country})
		webhook := &inbound.Webhook{TenantID: tenant.Id, Access: inbound.AccessUpsert}
		request, err := inbound.Read(app, webhook, "application/json", []byte(`{"name":"A","phone":"030 5550144"}`))
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := request.Preview(app)
		if err != nil || outcome.Results[0].Contact.Phone != want || (len(outcome.Results[0].Warnings) == 0) != (want != "") {
			t.Errorf("in %q: got %+v, %v", country, outcome, err)
		}
	}
}
