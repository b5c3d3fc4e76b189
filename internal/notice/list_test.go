package notice_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"contactbase/internal/notice"
	"contactbase/internal/testkit"
)

// The latest notices are readable with what became of their emails: those of a tenant, or all.
func TestLatest(t *testing.T) {
	t.Parallel()
	var fault error
	i := newInstallation(t, notice.Check{Kind: notice.DiskLow, Look: func(context.Context) error { return fault }})
	testkit.SuperuserToken(t, i)
	latest := func(tenant string, limit int) (got []string) {
		t.Helper()
		all, err := notice.Latest(i, tenant, limit)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range all {
			owner := ""
			if n.Tenant != nil {
				owner = n.Tenant.Name
			}
			got = append(got, fmt.Sprint(n.Title, "/", owner, "/", n.Lasts, n.Emails))
		}
		return got
	}
	i.expect("at first", latest("", 10))
	i.disable(i.webhook("one"))
	i.at(time.Minute)
	i.member("ada", "admin", "immediately")
	i.disable(i.webhook("two"))
	i.send()
	i.at(time.Minute)
	i.smtp.Set("refuse")
	fault = errors.New("the disk has 3 MiB left")
	i.find()
	_ = i.SendDue(t.Context())
	const (
		one = "Webhook one to hooks.example.com was disabled/Acme/false {0 0 0}"
		two = "Webhook two to hooks.example.com was disabled/Acme/false {1 0 0}"
	)
	i.expect("all", latest("", 10), "The disk is filling up//true {0 1 0}", two, one)
	i.expect("the latest of the tenant", latest(i.tenant, 1), two)
	fault = nil
	i.at(3*day + time.Minute)
	i.find()
	if err := notice.Prune(t.Context(), i, i.now.Add(-30*day), i.now); err != nil {
		t.Fatal(err)
	}
	i.expect("after three days", latest("", 2), "The disk is filling up//false {0 0 1}", two)
}
