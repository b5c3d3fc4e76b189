package contactbase_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	contactbase "contactbase/clients/go"
)

func TestPortalLinks(t *testing.T) {
	t.Parallel()
	const link = `{"data":{"id":"0mm8yqpxck3w9xb","url":"https://crm.example.com/portal/#token=x.y","token":"x.y","expires":"2026-03-04T17:20:11.087Z"}}`
	client, n := newClient(t, answer(200, link), answer(200, link), refusal(403, contactbase.CodeInsufficientPermission))
	created, err := client.PortalLinks.Create(t.Context(), "t 1", contactbase.PortalLinkOptions{Role: contactbase.RoleAdmin, Name: "Ada", Duration: 5 * time.Minute}, contactbase.RequestID("r7"))
	want := contactbase.PortalLink{ID: "0mm8yqpxck3w9xb", URL: "https://crm.example.com/portal/#token=x.y", Token: "x.y", Expires: time.Date(2026, 3, 4, 17, 20, 11, 87_000_000, time.UTC)}
	if err != nil || !created.Expires.Equal(want.Expires) || created.ID != want.ID || created.URL != want.URL || created.Token != want.Token {
		t.Errorf("the link is %+v (%v)", created, err)
	}
	if _, err := client.PortalLinks.Create(t.Context(), "t1", contactbase.PortalLinkOptions{}); err != nil {
		t.Error(err)
	}
	for i, want := range []struct{ path, body string }{
		{"/api/integrations/tenants/t%201/portal-link", `{"expiresIn":300,"name":"Ada","role":"admin"}`},
		{"/api/integrations/tenants/t1/portal-link", `{}`},
	} {
		if got := n.sent[i]; got.Method != http.MethodPost || got.URL.EscapedPath() != want.path || got.body != want.body || got.Header.Get("Authorization") != "Bearer cmk_1" {
			t.Errorf("%s %s sends %s", got.Method, got.URL, got.body)
		}
	}
	if n.sent[0].Header.Get("X-Request-Id") != "r7" {
		t.Errorf("the headers are %v", n.sent[0].Header)
	}
	var refused *contactbase.Error
	if _, err := client.PortalLinks.Create(t.Context(), "t1", contactbase.PortalLinkOptions{}); !errors.As(err, &refused) || refused.Code != contactbase.CodeInsufficientPermission {
		t.Errorf("without the permission: %v", err)
	}
}
