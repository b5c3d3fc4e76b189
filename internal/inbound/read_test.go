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
