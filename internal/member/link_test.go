package member_test

import (
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/member"
	"contactbase/internal/sqlite"
	"contactbase/internal/testkit"
)

// No password signs in to a link, and creating one hashes none, which takes a while: two links have the same.
func TestLinksHaveNoPassword(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant, hashes := testkit.Tenant(t, app, "Acme"), map[string]bool{}
	for range 2 {
		link, err := member.NewLink(app, tenant, member.LinkOptions{Role: member.RoleViewer, Duration: time.Hour}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		record, err := app.FindRecordById(member.CollectionName, link.ID)
		if err != nil {
			t.Fatal(err)
		}
		hash := record.GetString("password:hash")
		if hash == "" || record.ValidatePassword("") || record.ValidatePassword(hash) {
			t.Errorf("the hash %q has a password", hash)
		}
		hashes[hash] = true
	}
	if len(hashes) != 1 {
		t.Errorf("there are the hashes %v", hashes)
	}
}

// A link authenticates as a member until its record is deleted: by a revocation, or after its expiry.
func TestLinks(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant, now := testkit.Tenant(t, app, "Acme"), time.Now()
	create := func(duration time.Duration) *member.Link {
		t.Helper()
		link, err := member.NewLink(app, tenant, member.LinkOptions{Role: member.RoleViewer, Name: "Ada", Duration: duration}, now)
		if err != nil {
			t.Fatal(err)
		}
		return link
	}
	works := func(link *member.Link) bool {
		record, err := app.FindAuthRecordByToken(link.Token, core.TokenTypeAuth)
		return err == nil && member.Is(record) && member.IsLink(record) && !member.IsAdmin(record) && member.TenantOf(record) == tenant
	}
	short, long := create(member.MinLinkDuration), create(member.MaxLinkDuration)
	if !works(short) || !works(long) || !strings.HasSuffix(long.URL, "/portal/#token="+long.Token) || !long.Expires.Equal(now.Add(member.MaxLinkDuration)) {
		t.Fatalf("the links are %+v and %+v", short, long)
	}
	err := sqlite.InChunks(t.Context(), app, func(tx core.App, limit int) (int, error) {
		return member.PruneLinks(tx, limit, now.Add(time.Hour))
	})
	if err != nil || works(short) || !works(long) {
		t.Errorf("after an hour, the short one works: %t, the long one: %t (%v)", works(short), works(long), err)
	}
	if revoked, err := member.RevokeLinks(t.Context(), app, tenant); err != nil || revoked != 1 || works(long) {
		t.Errorf("%d links are revoked (%v)", revoked, err)
	}
	if _, err := member.NewLink(app, "nobody", member.LinkOptions{Role: member.RoleViewer, Duration: time.Hour}, now); !errors.Is(err, sql.ErrNoRows) {
		t.Errorf("a link of no tenant gives %v", err)
	}
}
