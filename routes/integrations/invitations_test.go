package integrations_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pocketbase/dbx"

	"contactbase/internal/member"
	"contactbase/internal/move"
	"contactbase/internal/testkit"
	"contactbase/routes/limit"
)

const (
	recordsPath = "/api/collections/tenant_members/records"
	acceptPath  = integrationsPath + "/invitations/accept"
	chosen      = "a chosen password"
)

// invitee creates a member without a password through the records API, and returns its id.
func invitee(t *testing.T, f *fixture, client *testkit.Client, email string) string {
	t.Helper()
	got := client.Do("POST", recordsPath, fmt.Sprintf(`{"tenant":%q,"role":"viewer","email":%q}`, f.tenant, email))
	if got.Status != 200 {
		t.Fatalf("creating a member without a password gives %d %s", got.Status, got.Body)
	}
	return got.JSON()["id"].(string)
}

func invite(client *testkit.Client, id string) *testkit.Answer {
	return client.Do("POST", integrationsPath+"/members/"+id+"/invitation", "")
}

// tokenOf returns the token of an answer with an invitation.
func tokenOf(t *testing.T, got *testkit.Answer) string {
	t.Helper()
	link, _ := got.Data()["url"].(string)
	_, token, found := strings.Cut(link, "/portal/#/invitation/")
	if got.Status != 200 || !found {
		t.Fatalf("an invitation gives %d %s", got.Status, got.Body)
	}
	return token
}

func accept(client *testkit.Client, token, password string) *testkit.Answer {
	return client.Do("POST", acceptPath, fmt.Sprintf(`{"token":%q,"password":%q}`, token, password))
}

func signInWith(client *testkit.Client, email, password string) int {
	return client.Do("POST", "/api/collections/tenant_members/auth-with-password", fmt.Sprintf(`{"identity":%q,"password":%q}`, email, password)).Status
}

// An invited member chooses a password once, and signs in with it.
func TestInvitation(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	f.App.Settings().Meta.AppURL = "https://example.com/crm/"
	admin, _ := newMember(t, f, f.tenant, "admin")
	guest := testkit.NewClient(t, f.base, "")
	id := invitee(t, f, admin, "ada@example.com")
	before := time.Now()
	got := invite(admin, id)
	token := tokenOf(t, got)
	expires, err := time.Parse(time.RFC3339, fmt.Sprint(got.Data()["expires"]))
	if err != nil || expires.Sub(before).Round(time.Minute) != 72*time.Hour || got.Data()["sent"] != false || !strings.HasPrefix(got.Data()["url"].(string), "https://example.com/crm/portal/#") {
		t.Errorf("the invitation is %s (%v)", got.Body, err)
	}
	if stored := testkit.Count(t, f.App, "SELECT count(*) FROM tenant_members WHERE invitationHash = {:token} OR instr(invitationHash, 'cmv_')", dbx.Params{"token": token}); stored != 0 {
		t.Error("the token is stored")
	}
	if got := accept(guest, token, "short"); got.Status != 400 || got.FieldCode("password") != "invalid_value" {
		t.Errorf("a short password gives %d %s", got.Status, got.Body)
	}
	if got := accept(guest, token, chosen); got.Status != 204 {
		t.Errorf("accepting gives %d %s", got.Status, got.Body)
	}
	if got := accept(guest, token, "another password"); got.Status != 410 || got.Code() != "invitation_expired" {
		t.Errorf("accepting again gives %d %s", got.Status, got.Body)
	}
	if got := []int{signInWith(guest, "ada@example.com", chosen), signInWith(guest, "ada@example.com", "another password")}; !slices.Equal(got, []int{200, 400}) {
		t.Errorf("the passwords sign in with %v", got)
	}
	if got := invite(admin, id); got.Status != 409 || got.Code() != "already_accepted" {
		t.Errorf("inviting again gives %d %s", got.Status, got.Body)
	}
	record, err := f.App.FindRecordById(member.CollectionName, id)
	if err != nil || record.Verified() || !record.GetBool("accepted") || record.GetString("invitationHash")+record.GetString("invitedUntil") != "" {
		t.Errorf("the member is %v (%v)", record, err)
	}
	var fields []string
	err = f.App.DB().Select("fields").From("audit_log").Where(dbx.HashExp{"record": id}).AndWhere(dbx.NewExp("action = 'updated'")).OrderBy("id").Column(&fields)
	if err != nil || fmt.Sprint(fields) != `[["invitation"] ["invitation","password"]]` {
		t.Errorf("the audit log has %v (%v)", fields, err)
	}
}

func open(client *testkit.Client, token string) *testkit.Answer {
	return client.Do("POST", integrationsPath+"/invitations/open", fmt.Sprintf(`{"token":%q}`, token))
}

// An invitation says whom it invites without being used up, until it ends. Unknown tokens are limited, and so are known ones.
func TestOpenInvitation(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	superuser, guest := newAdmin(t, f), testkit.NewClient(t, f.base, "")
	id := invitee(t, f, superuser, "ada@example.com")
	invited := invite(superuser, id)
	token := tokenOf(t, invited)
	for range 2 {
		if got := open(guest, token); got.Status != 200 || got.Data()["email"] != "ada@example.com" || got.Data()["tenant"] != "Acme" || got.Data()["expires"] != invited.Data()["expires"] {
			t.Errorf("opening gives %d %s", got.Status, got.Body)
		}
	}
	newer := tokenOf(t, invite(superuser, id))
	if got := open(guest, token); got.Status != 410 || got.Code() != "invitation_expired" {
		t.Errorf("opening a replaced one gives %d %s", got.Status, got.Body)
	}
	if changed, err := move.Freeze(t.Context(), f.App, testkit.Deliveries(f.App), f.tenant); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if got := open(guest, newer); got.Status != 503 || got.Code() != "tenant_moving" {
		t.Errorf("opening one of a frozen tenant gives %d %s", got.Status, got.Body)
	}
	statuses := map[int]int{}
	for range 18 {
		statuses[open(guest, newer).Status]++
	}
	if want := map[int]int{503: 17, 429: 1}; !maps.Equal(statuses, want) {
		t.Errorf("opening again and again gives %v", statuses)
	}
	for body, field := range map[string]string{`{}`: "token", `{"token":1}`: "token", `{"token":"x","password":"x"}`: "password"} {
		if got := guest.Do("POST", integrationsPath+"/invitations/open", body); got.Status != 400 || got.FieldCode(field) == "" {
			t.Errorf("%s gives %d %s", body, got.Status, got.Body)
		}
	}
	clear(statuses)
	for range 12 {
		statuses[open(guest, "cmv_000000000000000000000000000000000000").Status]++
	}
	if want := map[int]int{410: 10, 429: 2}; !maps.Equal(statuses, want) {
		t.Errorf("unknown tokens give %v", statuses)
	}
}

// Whatever changes who a member is, or that the invitation is needed, ends it; opening its page does not.
func TestInvitationEnds(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	for name, end := range map[string]func(id string){
		"a newer invitation": func(id string) { tokenOf(t, invite(superuser, id)) },
		"another address":    func(id string) { superuser.Do("PATCH", recordsPath+"/"+id, `{"email":"new@example.com"}`) },
		"another role":       func(id string) { superuser.Do("PATCH", recordsPath+"/"+id, `{"role":"admin"}`) },
		"a role and back": func(id string) {
			superuser.Do("PATCH", recordsPath+"/"+id, `{"role":"admin"}`)
			superuser.Do("PATCH", recordsPath+"/"+id, `{"role":"viewer"}`)
		},
		"a typed password": func(id string) {
			superuser.Do("PATCH", recordsPath+"/"+id, `{"password":"a typed password","passwordConfirm":"a typed password"}`)
		},
		"the deletion": func(id string) { superuser.Do("DELETE", recordsPath+"/"+id, "") },
		"72 hours": func(id string) {
			testkit.Execute(t, f.App, "UPDATE tenant_members SET invitedUntil = '2020-01-31 12:00:00.000Z' WHERE id = {:id}", dbx.Params{"id": id})
		},
		"": func(id string) { superuser.Do("PATCH", recordsPath+"/"+id, `{"name":"Ada"}`) },
	} {
		id := invitee(t, f, superuser, "ada@example.com")
		token := tokenOf(t, invite(superuser, id))
		end(id)
		want := 410
		if name == "" {
			want = 204
		}
		if got := accept(testkit.NewClient(t, f.base, ""), token, chosen); got.Status != want {
			t.Errorf("after %q, accepting gives %d %s", name, got.Status, got.Body)
		}
		superuser.Do("DELETE", recordsPath+"/"+id, "")
	}
}

// A password counts as chosen if the member has chosen it, and not if somebody else has typed it.
func TestOnlyChosenPasswordsPreventInvitations(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	const typed = `"password":"a typed password","passwordConfirm":"a typed password"`
	got := superuser.Do("POST", recordsPath, `{"tenant":"`+f.tenant+`","role":"viewer","email":"ada@example.com","accepted":true,"invitedUntil":"2099-01-01 00:00:00.000Z","invitationHash":"x",`+typed+`}`)
	id, _ := got.JSON()["id"].(string)
	if got.Status != 200 || got.JSON()["accepted"] != false || got.JSON()["invitedUntil"] != "" {
		t.Fatalf("a typed member is %d %s", got.Status, got.Body)
	}
	tokenOf(t, invite(superuser, id))
	superuser.Do("PATCH", recordsPath+"/"+id, `{"accepted":true,`+typed+`}`)
	token := tokenOf(t, invite(superuser, id))
	record, err := f.App.FindRecordById(member.CollectionName, id)
	if err != nil {
		t.Fatal(err)
	}
	own, err := record.NewAuthToken()
	if err != nil {
		t.Fatal(err)
	}
	self := signedIn(t, f, own)
	change := `{"oldPassword":%q,"password":"` + chosen + `","passwordConfirm":"` + chosen + `"}`
	if got := self.Do("PATCH", recordsPath+"/"+id, fmt.Sprintf(change, "wrong")); got.Status != 400 {
		t.Errorf("a wrong old password gives %d %s", got.Status, got.Body)
	}
	tokenOf(t, invite(superuser, id))
	if got := self.Do("PATCH", recordsPath+"/"+id, fmt.Sprintf(change, "a typed password")); got.Status != 200 || got.JSON()["accepted"] != true {
		t.Errorf("choosing a password gives %d %s", got.Status, got.Body)
	}
	if got := invite(superuser, id); got.Status != 409 {
		t.Errorf("inviting gives %d %s", got.Status, got.Body)
	}
	if got := accept(testkit.NewClient(t, f.base, ""), token, "another password"); got.Status != 410 {
		t.Errorf("an older invitation gives %d %s", got.Status, got.Body)
	}
	superuser.Do("PATCH", recordsPath+"/"+id, `{"accepted":false}`)
	if got := invite(superuser, id); got.Status != 409 {
		t.Errorf("after a superuser's attempt, inviting gives %d %s", got.Status, got.Body)
	}
}

// Of two who accept at once, one wins.
func TestAcceptAtOnce(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	token := tokenOf(t, invite(superuser, invitee(t, f, superuser, "ada@example.com")))
	passwords := []string{"the first password", "the second password", "the third password"}
	statuses := make([]int, len(passwords))
	var all sync.WaitGroup
	for i, password := range passwords {
		all.Go(func() { statuses[i] = accept(testkit.NewClient(t, f.base, ""), token, password).Status })
	}
	all.Wait()
	won := slices.Index(statuses, 204)
	if sorted := slices.Sorted(slices.Values(statuses)); !slices.Equal(sorted, []int{204, 410, 410}) {
		t.Fatalf("they get %v", statuses)
	}
	for i, password := range passwords {
		if got := signInWith(testkit.NewClient(t, f.base, ""), "ada@example.com", password); (got == 200) != (i == won) {
			t.Errorf("%s signs in with %d after %v", password, got, statuses)
		}
	}
}

// Only admins who have signed in themselves invite, only members of their tenant, and no links.
func TestWhoInvites(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	viewer, record := newMember(t, f, f.tenant, "viewer")
	linkToken, linkID := newLink(t, f, superuser, `{"role":"admin"}`)
	stranger, _ := newMember(t, f, testkit.Tenant(t, f.App, "Other"), "admin")
	admin, _ := newMember(t, f, f.tenant, "admin")
	for who, tc := range map[string]struct {
		client *testkit.Client
		id     string
		want   string
	}{
		"a guest":              {testkit.NewClient(t, f.base, ""), record.Id, "401 unauthorized"},
		"a viewer":             {viewer, record.Id, "403 insufficient_permission"},
		"a link":               {signedIn(t, f, linkToken), record.Id, "403 insufficient_permission"},
		"a link, of nobody,":   {signedIn(t, f, linkToken), "unknown", "403 insufficient_permission"},
		"a stranger":           {stranger, record.Id, "404 not_found"},
		"nobody":               {admin, "unknown", "404 not_found"},
		"an admin, a link,":    {admin, linkID, "404 not_found"},
		"a superuser, a link,": {superuser, linkID, "404 not_found"},
	} {
		if got := invite(tc.client, tc.id); fmt.Sprint(got.Status, " ", got.Code()) != tc.want {
			t.Errorf("%s gets %d %s", who, got.Status, got.Body)
		}
	}
	if changed, err := move.Freeze(t.Context(), f.App, testkit.Deliveries(f.App), f.tenant); err != nil || !changed {
		t.Fatal(changed, err)
	}
	if got := invite(superuser, record.Id); got.Status != 503 || got.Code() != "tenant_moving" {
		t.Errorf("inviting to a frozen tenant gives %d %s", got.Status, got.Body)
	}
}

// What is not an invitation ends like one, and counts as a failed authentication.
func TestInvalidInvitations(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	guest := testkit.NewClient(t, f.base, "")
	for body, want := range map[string]string{
		`{}`: "password required", `{"token":"x"}`: "password required", `{"password":"x"}`: "token required",
		`{"token":1,"password":"x"}`: "token invalid_value", `{"token":"x","password":"x","role":"admin"}`: "role unknown_field",
	} {
		field, code, _ := strings.Cut(want, " ")
		if got := guest.Do("POST", acceptPath, body); got.Status != 400 || got.FieldCode(field) != code {
			t.Errorf("%s gives %d %s", body, got.Status, got.Body)
		}
	}
	if got := guest.Do("POST", acceptPath, `{"token":"`+strings.Repeat("x", 5_000)+`","password":"x"}`); got.Status != 413 {
		t.Errorf("a large body gives %d %s", got.Status, got.Body)
	}
	statuses := map[int]int{}
	for range 32 {
		statuses[accept(guest, "cmv_000000000000000000000000000000000000", chosen).Status]++
	}
	if want := map[int]int{410: 30, 429: 2}; !maps.Equal(statuses, want) {
		t.Errorf("unknown tokens give %v", statuses)
	}
}

// A tenant has 20 invitations a minute, whoever sends them.
func TestInvitationsAreLimited(t *testing.T) {
	t.Parallel()
	_, f := newStoppedAPI(t)
	superuser := newAdmin(t, f)
	admin, record := newMember(t, f, f.tenant, "admin")
	statuses := map[int]int{}
	for i := range 22 {
		statuses[invite([]*testkit.Client{superuser, admin}[i%2], record.Id).Status]++
	}
	if want := map[int]int{200: 20, 429: 2}; !maps.Equal(statuses, want) {
		t.Errorf("22 invitations give %v", statuses)
	}
	_, other := newMember(t, f, testkit.Tenant(t, f.App, "Other"), "viewer")
	if got := invite(superuser, other.Id); got.Status != 200 {
		t.Errorf("another tenant gets %d %s", got.Status, got.Body)
	}
}

// With a mail server, only the member receives the link, which proves the address. A mail that fails is not "sent".
func TestInvitationByMail(t *testing.T) {
	t.Parallel()
	app := testkit.NewMailingApp(t)
	f := &fixture{base: testkit.Serve(t, app), tenant: testkit.Tenant(t, app, "Acme")}
	server := testkit.NewMailServer(t, app)
	settings := app.Settings()
	settings.Meta.AppURL, settings.Meta.AppName = "https://crm.example.com", "CRM <b>"
	if err := app.Save(settings); err != nil {
		t.Fatal(err)
	}
	superuser := signedIn(t, f, testkit.SuperuserToken(t, app))
	id := invitee(t, f, superuser, "ada@example.com")
	got := invite(superuser, id)
	if got.Status != 200 || got.Data()["sent"] != true || got.Data()["url"] != nil {
		t.Fatalf("inviting gives %d %s", got.Status, got.Body)
	}
	mails := server.Mails()
	if len(mails) != 1 || mails[0].To != "ada@example.com" || !strings.Contains(mails[0].Subject, "Acme") {
		t.Fatalf("the mails are %v", mails)
	}
	text := strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(mails[0].Text)
	tokens := regexp.MustCompile(`https://crm\.example\.com/portal/#/invitation/(cmv_\w+)`).FindAllStringSubmatch(text, -1)
	if len(tokens) != 2 || tokens[0][1] != tokens[1][1] || !strings.Contains(text, "text/html") || !strings.Contains(text, "text/plain") || !strings.Contains(text, "&lt;b&gt;") {
		t.Fatalf("the mail is\n%s", text)
	}
	if got := accept(testkit.NewClient(t, f.base, ""), tokens[0][1], chosen); got.Status != 204 {
		t.Errorf("accepting gives %d %s", got.Status, got.Body)
	}
	if record, err := app.FindRecordById(member.CollectionName, id); err != nil || !record.Verified() {
		t.Errorf("the address is not verified: %v", err)
	}
	server.Set("refuse")
	other := invitee(t, f, superuser, "grace@example.com")
	if got := invite(superuser, other); got.Status != 200 || got.Data()["sent"] != false || got.Data()["url"] != nil {
		t.Errorf("with a server that refuses, inviting gives %d %s", got.Status, got.Body)
	}
}

// Each password of an invited member is hashed, which takes a while. Beyond the limit of failed authentications, none is.
func TestAcceptingIsLimitedBeforeItHashes(t *testing.T) {
	t.Parallel()
	_, f := newAPI(t)
	superuser := newAdmin(t, f)
	token := tokenOf(t, invite(superuser, invitee(t, f, superuser, "ada@example.com")))
	guest, got := testkit.NewClient(t, f.base, ""), &testkit.Answer{}
	for range 2 * limit.Refused.Burst {
		if got = accept(guest, token, "short"); got.Status != 400 {
			break
		}
	}
	if got.Status != 429 {
		t.Fatalf("a password of 5 characters gets %d %s", got.Status, got.Body)
	}
	if got := accept(guest, token, chosen); got.Status != 429 || got.Header.Get("Retry-After") == "" {
		t.Errorf("a valid one then gets %d %s", got.Status, got.Body)
	}
}
