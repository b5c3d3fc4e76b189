package cmd

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"strings"
	"testing"

	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

func TestPortalLinkCommands(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	tenant := func(args ...string) (printed map[string]any, err error) {
		var out bytes.Buffer
		command := NewTenantCommand(app, testkit.Deliveries(app), tenant.DefaultBounds, 0)
		command.SetArgs(append(args, "--json"))
		command.SetOut(&out)
		command.SetErr(io.Discard)
		if err := command.Execute(); err != nil {
			return nil, err
		}
		return printed, stdjson.Unmarshal(out.Bytes(), &printed)
	}
	link, err := tenant("portal-link", "Acme", "--role", "admin", "--name", "Ada", "--expires", "5m")
	if err != nil {
		t.Fatal(err)
	}
	token, _ := link["token"].(string)
	record, err := app.FindAuthRecordByToken(token)
	if err != nil || record.GetString("tenant") != acme || record.GetString("role") != "admin" || record.GetString("name") != "Ada" {
		t.Errorf("the link %v is that of %v (%v)", link, record, err)
	}
	if address, _ := link["url"].(string); !strings.HasSuffix(address, "/portal/#token="+token) {
		t.Errorf("the address is %s", address)
	}
	for args, says := range map[string]string{
		"portal-link Acme --role owner": "--role must be", "portal-link Acme --expires 1m": "--expires must be", "portal-link Acme --expires 25h": "--expires must be",
		"portal-link Nobody": "no tenant has", "revoke-links Nobody": "no tenant has",
	} {
		if _, err := tenant(strings.Fields(args)...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s ends with %v", args, err)
		}
	}
	revoked, err := tenant("revoke-links", "Acme")
	if err != nil || revoked["revoked"] != 1.0 {
		t.Errorf("revoking prints %v (%v)", revoked, err)
	}
	if record, err := app.FindAuthRecordByToken(token); err == nil {
		t.Errorf("the revoked link is that of %v", record)
	}
}
