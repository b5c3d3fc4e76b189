package member_test

import (
	"maps"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/prometheus/client_golang/prometheus"

	"contactbase/internal/member"
	"contactbase/internal/testkit"
)

func TestMetrics(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	registry := prometheus.NewRegistry()
	registry.MustRegister(member.NewMetrics(app)...)
	app.Settings().RateLimits.Rules = []core.RateLimitRule{{Label: "*:auth", MaxRequests: 4, Duration: 3600}}
	if err := app.Save(app.Settings()); err != nil {
		t.Fatal(err)
	}
	client := testkit.NewClient(t, testkit.Serve(t, app), "")
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Record(t, app, member.CollectionName, map[string]any{"tenant": tenant, "role": member.RoleAdmin, "email": "ada@example.com", "password": "a long password"})
	signIn := func(collection, method, body string) {
		client.Do("POST", "/api/collections/"+collection+"/auth-with-"+method, body)
	}
	signIn(member.CollectionName, "password", `{"identity":"ada@example.com","password":"a long password"}`)
	signIn(member.CollectionName, "otp", `{"otpId":"x","password":"12345678"}`)
	for range 4 {
		signIn(member.CollectionName, "password", `{"identity":"ada@example.com","password":"wrong"}`)
	}
	signIn("_superusers", "password", `{"identity":"ada@example.com","password":"wrong"}`)

	var links []*member.Link
	for range 3 {
		link, err := member.NewLink(app, tenant, member.LinkOptions{Role: member.RoleViewer, Duration: time.Hour}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		links = append(links, link)
	}
	for range 2 {
		client.Do("GET", "/api/collections/tenant_members/records/"+links[0].ID, "", "Authorization", links[0].Token)
	}
	if _, err := member.RevokeLinks(t.Context(), app, tenant); err != nil {
		t.Fatal(err)
	}
	got := testkit.Metrics(t, registry)
	maps.DeleteFunc(got, func(_ string, n float64) bool { return n == 0 })
	const failed, limited = "contactbase_member_sign_ins_total password failed", "contactbase_member_sign_ins_total password limited"
	// PocketBase decides which one is the first
	if got[failed] == 0 || got[limited] == 0 || got[failed]+got[limited] != 4 {
		t.Errorf("of 4 wrong passwords %v failed and %v were limited", got[failed], got[limited])
	}
	delete(got, failed)
	delete(got, limited)
	want := map[string]float64{
		"contactbase_member_sign_ins_total otp failed":         1,
		"contactbase_member_sign_ins_total password succeeded": 1, "contactbase_portal_links_total created": 3, "contactbase_portal_links_total opened": 2,
		"contactbase_portal_links_total revoked": 3,
	}
	if !maps.Equal(got, want) {
		t.Errorf("the metrics are %v, want %v", got, want)
	}
}
