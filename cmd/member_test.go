package cmd

import (
	"bytes"
	stdjson "encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	members "contactbase/internal/member"
	"contactbase/internal/testkit"
)

func TestMemberCommands(t *testing.T) {
	t.Parallel()
	app := testkit.NewMailingApp(t)
	acme, beta := testkit.Tenant(t, app, "Acme"), testkit.Tenant(t, app, "Beta")
	member := func(args ...string) (string, error) {
		var out bytes.Buffer
		command := NewMemberCommand(app, testkit.Deliveries(app))
		command.SetArgs(append(args, "--json"))
		command.SetOut(&out)
		command.SetErr(io.Discard)
		err := command.Execute()
		return out.String(), err
	}
	object := func(args ...string) map[string]any {
		t.Helper()
		out, err := member(args...)
		var found map[string]any
		if err != nil || stdjson.Unmarshal([]byte(out), &found) != nil {
			t.Fatalf("%v prints %s (%v)", args, out, err)
		}
		return found
	}
	file := filepath.Join(t.TempDir(), "password")
	if err := os.WriteFile(file, []byte("my own password\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ada := object("create", "--tenant", "Acme", "--email", "ada@example.com", "--role", "admin", "--name", "Ada")
	bob := object("create", "--tenant", beta, "--email", "bob@example.com", "--passwordFile", file)
	if ada["tenant"] != acme || ada["role"] != "admin" || bob["role"] != "viewer" || bob["password"] != nil {
		t.Errorf("created are %v and %v", ada, bob)
	}
	generated, _ := ada["password"].(string)
	for email, password := range map[string]string{"ada@example.com": generated, "bob@example.com": "my own password"} {
		record, err := app.FindAuthRecordByEmail("tenant_members", email)
		if err != nil || len(password) < 12 || !record.ValidatePassword(password) {
			t.Errorf("%s does not sign in with %q (%v)", email, password, err)
		}
	}
	cleo := object("invite", "--tenant", "Acme", "--email", "cleo@example.com", "--role", "admin")
	again := object("invite", "--tenant", "Acme", "--email", "cleo@example.com")
	first, _ := cleo["url"].(string)
	second, _ := again["url"].(string)
	if cleo["id"] != again["id"] || cleo["role"] != "admin" || again["role"] != "admin" || cleo["sent"] != false ||
		!strings.Contains(first, "/portal/#/invitation/cmv_") || first == second || cleo["password"] != nil {
		t.Errorf("the invitations are %v and %v", cleo, again)
	}
	_, token, _ := strings.Cut(second, "#/invitation/")
	invited, err := members.FindInvited(app, token, time.Now())
	if err != nil || invited.Id != cleo["id"] {
		t.Fatalf("the link invites %v (%v)", invited, err)
	}
	if err := members.Accept(app, invited, "a long password", time.Now()); err != nil {
		t.Fatal(err)
	}
	mails := testkit.NewMailServer(t, app)
	dan := object("invite", "--tenant", "Acme", "--email", "dan@example.com")
	if sent := mails.Mails(); dan["sent"] != true || dan["url"] != nil || len(sent) != 1 || !strings.Contains(sent[0].To, "dan@example.com") {
		t.Errorf("with a mail server, %v has the mails %v", dan, sent)
	}
	mails.Set("refuse")
	for _, refused := range []struct{ says, args string }{
		{"This member has already chosen a password", "invite --tenant Acme --email cleo@example.com"},
		{"a member of the tenant " + acme + " already has the address cleo@example.com", "invite --tenant Beta --email cleo@example.com"},
		{"the member ada@example.com has the role admin; change it", "invite --tenant Acme --email ada@example.com --role viewer"},
		{"the invitation could not be emailed: ", "invite --tenant Acme --email dan@example.com"},
		{"--tenant and --email are required", "invite --email c@example.com"},
		{"--tenant and --email are required", "create --tenant Acme"},
		{"--role must be admin or viewer", "create --tenant Acme --email c@example.com --role owner"},
		{`no tenant has the ID or name "Nobody"`, "create --tenant Nobody --email c@example.com"},
		{"a member of the tenant " + acme + " already has the address ada@example.com", "create --tenant Beta --email ada@example.com"},
		{"creating the member: email: ", "create --tenant Beta --email nonsense"},
		{"--passwordFile: ", "create --tenant Beta --email c@example.com --passwordFile " + file + "s"},
		{`no member has the ID "nobody"`, "delete nobody"},
	} {
		if out, err := member(strings.Fields(refused.args)...); err == nil || !strings.Contains(err.Error(), refused.says) {
			t.Errorf("%s ends with %v: %s", refused.args, err, out)
		}
	}
	if out, err := member("list", "--tenant", "Acme"); err != nil || !strings.Contains(out, "ada@example.com") || strings.Contains(out, "bob@example.com") || strings.Contains(out, "password") {
		t.Errorf("the members of Acme are %s (%v)", out, err)
	}
	object("delete", bob["id"].(string))
	if out, err := member("list"); err != nil || strings.Contains(out, "bob@example.com") {
		t.Errorf("after the deletion there are %s (%v)", out, err)
	}
}
