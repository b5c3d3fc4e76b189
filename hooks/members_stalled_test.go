package hooks_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/subscriptions"

	"contactbase/internal/member"
	"contactbase/internal/testkit"
)

// stalled sends a request whose body arrives in two parts, with meanwhile between them, and returns the status of the response.
func (d *door) stalled(who *core.Record, method, path, body string, meanwhile func()) int {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	parts, slow := io.Pipe()
	request, err := http.NewRequestWithContext(ctx, method, d.base+path, parts)
	if err != nil {
		d.t.Fatal(err)
	}
	request.Header.Set("Authorization", d.as(who).Header.Get("Authorization"))
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Expect", "100-continue") // the server asks for the body once it reads it
	go func() {
		_, _ = slow.Write([]byte(body[:1]))
		meanwhile()
		_, _ = slow.Write([]byte(body[1:]))
		_ = slow.Close()
	}()
	client := &http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}
	got, err := client.Do(request)
	if err != nil {
		d.t.Fatal(err)
	}
	defer got.Body.Close()
	return got.StatusCode
}

// A member whose role or session ends while the body arrives changes nothing, and hears nothing any more.
func TestStalledRequestsOfFormerMembers(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	set := func(field string, value any) func() {
		return func() {
			record := d.reload(member.CollectionName, d.admin.Id)
			record.Set(field, value)
			if err := d.app.Save(record); err != nil {
				t.Error(err)
			}
		}
	}
	subscriber := subscriptions.NewDefaultClient()
	d.app.SubscriptionsBroker().Register(subscriber)
	key := `{"tenant":"` + d.acme.tenant + `","name":"late"}`
	if got := d.stalled(d.admin, "POST", recordsOf("api_keys"), key, func() {}); got != 200 {
		t.Fatalf("an admin's slow request gives %d", got)
	}
	if got := d.stalled(d.admin, "POST", recordsOf("api_keys"), key, set("role", member.RoleViewer)); got != 403 {
		t.Errorf("a former admin's request gives %d", got)
	}
	set("role", member.RoleAdmin)()
	if got := d.stalled(d.admin, "DELETE", recordsOf("webhooks")+"/"+d.acme.ids["webhooks"], `{}`, set("role", member.RoleViewer)); got != 403 {
		t.Errorf("a former admin's deletion gives %d", got)
	}
	set("role", member.RoleAdmin)()
	batch := `{"requests":[{"method":"POST","url":"` + recordsOf("api_keys") + `","body":` + key + `}]}`
	if got := d.stalled(d.admin, "POST", "/api/batch", batch, set("role", member.RoleViewer)); got != 403 {
		t.Errorf("a former admin's batch gives %d", got)
	}
	remove := func() {
		if err := d.app.Delete(d.reload(member.CollectionName, d.admin.Id)); err != nil {
			t.Error(err)
		}
	}
	if got := d.stalled(d.admin, "POST", "/api/realtime", `{"clientId":"`+subscriber.Id()+`","subscriptions":["webhooks/*"]}`, remove); got != 401 {
		t.Errorf("a former member's subscription gives %d", got)
	}
	if got := d.stalled(d.viewer, "GET", recordsOf("webhooks"), `{}`, func() {
		if err := d.app.Delete(d.reload(member.CollectionName, d.viewer.Id)); err != nil {
			t.Error(err)
		}
	}); got != 401 {
		t.Errorf("a former member's list gives %d", got)
	}
	if n := testkit.Count(t, d.app, "SELECT count(*) FROM api_keys WHERE name = 'late'", nil); n != 1 {
		t.Errorf("%d keys were created", n)
	}
}
