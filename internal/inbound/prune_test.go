package inbound_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/inbound"
	"contactbase/internal/testkit"
)

func TestPrune(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	testkit.Inbound(t, app, testkit.Tenant(t, app, "Acme"), "full", nil)
	cut := time.Now().UTC().Add(-30 * 24 * time.Hour).Truncate(time.Millisecond)
	for id, age := range map[string]time.Duration{"oldest": time.Hour, "older": time.Minute, "old": time.Millisecond, "cut": 0, "young": -time.Hour} {
		_, err := app.NonconcurrentDB().NewQuery("INSERT INTO inbound_requests (id, inbound, tenant, created) SELECT {:id}, id, tenant, {:at} FROM inbound_webhooks").
			Bind(dbx.Params{"id": id, "at": cut.Add(-age).Format(types.DefaultDateLayout)}).Execute()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		gone int
		left []string
	}{
		{2, []string{"old", "cut", "young"}},
		{1, []string{"cut", "young"}},
		{0, []string{"cut", "young"}},
	} {
		if gone, err := inbound.Prune(app, 2, cut); gone != c.gone || err != nil {
			t.Errorf("%d went, %v; not %d", gone, err, c.gone)
		}
		var left []string
		if err := app.DB().NewQuery("SELECT id FROM inbound_requests ORDER BY created").Column(&left); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(left) != fmt.Sprint(c.left) {
			t.Errorf("left are %v, not %v", left, c.left)
		}
	}
}
