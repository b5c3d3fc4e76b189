package hooks_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/member"
	"contactbase/internal/testkit"
)

// stalled sends a request whose body arrives in two parts, with meanwhile between them, and returns the
// status of the response.
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

// A member whose role or session ends while the body arrives changes nothing: the rules read the member from the
// database, not from the request.
func TestStalledRequestsOfFormerMembers(t *testing.T) {
	t.Parallel()
	d := newDoor(t)
	demote := func() {
		testkit.Execute(t, d.app, "UPDATE tenant_members SET role = 'viewer' WHERE id = {:id}", dbx.Params{"id": d.admin.Id})
	}
	key := `{"tenant":"` + d.acme.tenant + `","name":"late"}`
	if got := d.stalled(d.admin, "POST", recordsOf("api_keys"), key, func() {}); got != 200 {
		t.Fatalf("an admin's slow request gives %d", got)
	}
	for _, tc := range []struct{ method, path, body string }{
		{"POST", recordsOf("api_keys"), key},
		{"PATCH", recordsOf("webhooks") + "/" + d.acme.ids["webhooks"], `{"name":"late"}`},
		{"DELETE", recordsOf("webhooks") + "/" + d.acme.ids["webhooks"], `{}`},
		{"POST", "/api/batch", `{"requests":[{"method":"POST","url":"` + recordsOf("api_keys") + `","body":` + key + `}]}`},
	} {
		testkit.Execute(t, d.app, "UPDATE tenant_members SET role = 'admin' WHERE id = {:id}", dbx.Params{"id": d.admin.Id})
		if got := d.stalled(d.admin, tc.method, tc.path, tc.body, demote); got != 400 && got != 404 {
			t.Errorf("%s %s of a former admin gives %d", tc.method, tc.path, got)
		}
	}
	remove := func() {
		if err := d.app.Delete(d.reload(member.CollectionName, d.viewer.Id)); err != nil {
			t.Error(err)
		}
	}
	if got := d.stalled(d.viewer, "PATCH", membersPath+"/"+d.viewer.Id, `{"name":"late"}`, remove); got != 404 {
		t.Errorf("a former member's request gives %d", got)
	}
	if n := testkit.Count(t, d.app, "SELECT (SELECT count(*) FROM api_keys WHERE name = 'late') + (SELECT count(*) FROM webhooks WHERE name = 'late')", nil); n != 1 {
		t.Errorf("%d records were written", n)
	}
}
