package integrations_test

import (
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
	"contactbase/internal/inbound"
	"contactbase/internal/member"
	"contactbase/internal/testkit"
	"contactbase/internal/webhook"
)

// If an admin has added a required field, a request that creates a record without it, or changes one that lacks
// it, names the field.
func TestRequiredFieldsOfAnAdmin(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	testkit.Webhook(t, f.App, f.tenant, "https://example.com/hook", "")
	testkit.Inbound(t, f.App, f.tenant, "upsert", nil)
	paths := []string{"tenants/" + f.tenant + "/portal-link"}
	for name, path := range map[string]string{
		credential.CollectionName: "keys/", webhook.CollectionName: "webhooks/", inbound.CollectionName: "inbound/", member.CollectionName: "",
	} {
		collection, err := f.App.FindCollectionByNameOrId(name)
		if err != nil {
			t.Fatal(err)
		}
		if path != "" {
			record, err := f.App.FindFirstRecordByData(collection, "tenant", f.tenant)
			if err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path+record.Id+"/rotate")
		}
		collection.Fields.Add(&core.TextField{Name: "crmId", Required: true})
		if err := f.App.Save(collection); err != nil {
			t.Fatal(err)
		}
	}
	admin := newAdmin(t, f)
	for _, path := range paths {
		if got := admin.Do("POST", integrationsPath+"/"+path, ""); got.Status != 400 || got.FieldCode("crmId") != "invalid_value" {
			t.Errorf("%s gives %d %s", path, got.Status, got.Body)
		}
	}
}
