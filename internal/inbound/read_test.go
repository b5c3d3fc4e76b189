package inbound_test

import (
	"strings"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/inbound"
	"contactbase/internal/inbound/payload"
	"contactbase/internal/testkit"
)

// Reading a large body takes long, and must not need the writer's connection.
func TestReadingHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	webhook := &inbound.Webhook{TenantID: testkit.Tenant(t, app, "Acme"), Access: inbound.AccessUpsert}
	var request *inbound.Request
	err := app.RunInTransaction(func(tx core.App) (err error) {
		if _, err := tx.DB().NewQuery("UPDATE tenants SET name = 'Writing'").Execute(); err != nil {
			return err
		}
		request, err = inbound.Read(app, webhook, "application/json", []byte(`[{"name":"A","phone":"nothing","plan":"x"},{}]`))
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

// An optional value that does not fit is left out, and the contact is kept. What says which contact it is must fit.
func TestOptionalValuesAreLeftOut(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.AddFields(t, app, &core.NumberField{Name: "age"}, &core.TextField{Name: "plan", Max: 3})
	mapping, err := payload.ParseMapping([]byte(`{"fields":{"name":"n","email":"e","company":"c","age":"a","plan":"p"}}`))
	if err != nil {
		t.Fatal(err)
	}
	webhook := &inbound.Webhook{TenantID: testkit.Tenant(t, app, "Acme"), Access: inbound.AccessUpsert}
	mapped := &inbound.Webhook{TenantID: webhook.TenantID, Access: inbound.AccessUpsert, Mapping: mapping}
	preview := func(webhook *inbound.Webhook, body string) inbound.Result {
		t.Helper()
		request, err := inbound.Read(app, webhook, "application/json", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := request.Preview(app)
		if err != nil {
			t.Fatal(err)
		}
		return outcome.Results[0]
	}
	long := strings.Repeat("x", 256)
	for _, got := range []inbound.Result{
		preview(webhook, `{"name":"Ada\r\nKing","email":"ada@example.com","company":"`+long+`","age":"old","plan":"large","phone":"none"}`),
		preview(mapped, `{"n":"Ada\nKing","e":"ada@example.com","c":"`+long+`","a":"old","p":"large"}`),
	} {
		warnings := strings.Join(got.Warnings, "\n")
		if got.Contact == nil || got.Contact.Name != "Ada King" || got.Contact.Company != "" {
			t.Errorf("got %+v", got)
		}
		for _, name := range []string{"age", "company", "plan"} {
			if !strings.Contains(warnings, name+" ignored: \"") {
				t.Errorf("%s is not in %s", name, warnings)
			}
		}
	}
	for field, body := range map[string]string{
		"name":       `{"name":"` + long + `","email":"ada@example.com"}`,
		"email":      `{"name":"Ada","email":"ada"}`,
		"externalId": `{"name":"Ada","externalId":"` + long + `"}`,
	} {
		if got := preview(webhook, body); got.Error == nil || got.Error.Fields[field].Code == "" {
			t.Errorf("%s: got %+v", field, got)
		}
	}
}

// A new contact without a required value that did not fit fails with the error of the value.
func TestRequiredValueThatDoesNotFit(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.AddFields(t, app, &core.TextField{Name: "plan", Max: 3, Required: true})
	webhook := &inbound.Webhook{TenantID: testkit.Tenant(t, app, "Acme"), Access: inbound.AccessUpsert}
	for body, want := range map[string]string{`{"name":"Ada","plan":"large"}`: "no more than 3", `{"name":"Ada"}`: "plan: "} {
		request, err := inbound.Read(app, webhook, "application/json", []byte(body))
		if err != nil {
			t.Fatal(err)
		}
		outcome, err := request.Preview(app)
		if err != nil || outcome.Failed != 1 || !strings.Contains(outcome.Results[0].Error.Message, want) {
			t.Errorf("%s: got %+v, %v", body, outcome, err)
		}
	}
}
