package routes_test

import (
	"testing"

	"contactbase/internal/testkit"
)

// A URL that is not UTF-8 is rejected everywhere, after the checks of the key.
func TestAddressesAreUTF8(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin := newAdmin(t, f)
	hook, deleter := newSender(t, f, "full", nil), testkit.NewClient(t, f.base, testkit.Key(t, f.App, f.tenant, everything...))
	for _, tc := range []struct {
		by           *testkit.Client
		method, path string
		field        string
	}{
		{client, "PUT", contactsPath + "/by-external-id/M%FCller", "path"},
		{client, "GET", contactsPath + "/%FF", "path"},
		{client, "PATCH", contactsPath + "/%C3", "path"},
		{client, "GET", contactsPath + "?q=M%FCller", "q"},
		{client, "GET", contactsPath + "?q=M\xfcller", "q"},
		{client, "GET", contactsPath + "?%FC=1", "\uFFFD"},
		{client, "POST", contactsPath + "?a=%FC", "a"},
		{client, "POST", contactsPath + "/batch?a=%FC", "a"},
		{client, "GET", "/api/ext/v1/events?after=%FC", "after"},
		{deleter, "DELETE", contactsPath + "/%FF", "path"},
		{client, "GET", "/api/ext/v1/nothing/%FF", "path"},
		{hook.Client, "POST", hook.path + "?a=%FC", "a"},
		{hook.Client, "GET", "/api/hooks/%FC", "path"},
		{admin, "POST", "/api/integrations/webhooks/%FC/ping", "path"},
		{admin, "GET", "/api/integrations/deliveries?webhook=%FC", "webhook"},
		{admin, "POST", "/api/integrations/imports?name=%FC&tenant=" + f.tenant, "name"},
		{admin, "GET", "/api/integrations/overview?a=%FC", "a"},
		{client, "POST", "/mcp?a=%FC", "a"},
	} {
		body := ""
		if tc.method != "GET" {
			body = `{"name":"Ada"}`
		}
		got := tc.by.Do(tc.method, tc.path, body)
		if got.Status != 400 || got.Code() != "invalid_parameter" || got.FieldCode(tc.field) != "invalid_characters" {
			t.Errorf("%s %s gives %d %s", tc.method, tc.path, got.Status, got.Body)
		}
	}
	if got := testkit.NewClient(t, f.base, "").Do("GET", contactsPath+"/%FF", ""); got.Status != 401 {
		t.Errorf("without a key it gives %d %s", got.Status, got.Body)
	}
	if got := client.Do("PUT", contactsPath+"/by-external-id/M%C3%BCller%2F%2F..%2F", `{"name":"Ada"}`); got.Status != 201 || got.Data()["externalId"] != "Müller//../" {
		t.Errorf("an identifier with slashes gives %d %s", got.Status, got.Body)
	}
	if n, err := f.App.CountRecords("contacts"); err != nil || n != 1 {
		t.Errorf("%d contacts are there, %v", n, err)
	}
}

// A body that is not UTF-8 is rejected, whatever its type.
func TestBodiesAreUTF8(t *testing.T) {
	t.Parallel()
	client, f := newAPI(t)
	admin := newAdmin(t, f)
	hook := newSender(t, f, "full", nil)
	const wrong = "{\"name\":\"M\xfcller\"}"
	form := func(part string) string { return "--b\r\nContent-Disposition: form-data; " + part + "\r\n--b--\r\n" }
	for _, tc := range []struct {
		by                       *testkit.Client
		method, path, body, kind string
	}{
		{client, "POST", contactsPath, wrong, ""},
		{client, "PUT", contactsPath + "/by-external-id/1", wrong, ""},
		{client, "POST", contactsPath + "/batch", `{"items":[{"action":"create","contact":` + wrong + `}]}`, ""},
		{client, "POST", "/mcp", wrong, ""},
		{hook.Client, "POST", hook.path, wrong, ""},
		{hook.Client, "POST", hook.path, "name=M\xfcller", "application/x-www-form-urlencoded"},
		{hook.Client, "POST", hook.path, "name=M%FCller", "application/x-www-form-urlencoded"},
		{hook.Client, "POST", hook.path, "a[%FC]=x&name=A", "application/x-www-form-urlencoded"},
		{hook.Client, "POST", hook.path, form("name=\"name\"\r\n\r\nM\xfcller"), "multipart/form-data; boundary=b"},
		{hook.Client, "POST", hook.path, form("name=\"\xfc\"\r\n\r\nx"), "multipart/form-data; boundary=b"},
		{hook.Client, "POST", hook.path, form("name=\"\xfc\"; filename=\"a\"\r\n\r\nx"), "multipart/form-data; boundary=b"},
		{admin, "POST", "/api/integrations/inbound/preview", `{"tenant":"` + f.tenant + `","body":` + wrong + `}`, ""},
		{admin, "POST", "/api/integrations/keys/" + f.tenant + "/rotate", "{\"a\":\"\xfc\"}", ""},
	} {
		kind := tc.kind
		if kind == "" {
			kind = "application/json"
		}
		if got := tc.by.Do(tc.method, tc.path, tc.body, "Content-Type", kind); got.Status != 400 || got.Code() != "invalid_json" {
			t.Errorf("%s %s %q gives %d %s", tc.method, tc.path, tc.body, got.Status, got.Body)
		}
	}
	for name, value := range map[string]string{"Idempotency-Key": "M\xfcller", "webhook-id": "M\xfcller"} {
		if got := hook.Do("POST", hook.path, `{"name":"Ada"}`, name, value); got.Status != 400 || got.FieldCode(name) == "" {
			t.Errorf("%s gives %d %s", name, got.Status, got.Body)
		}
	}
	if n, err := f.App.CountRecords("contacts"); err != nil || n != 0 {
		t.Errorf("%d contacts are there, %v", n, err)
	}
}
