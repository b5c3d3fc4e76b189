package activity_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/activity"
	"contactbase/internal/testkit"
)

// Calls are counted by key and status. The last failed calls of each key are kept, at most 100.
func TestCalls(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	calls := activity.NewCallCounter()
	write := func() {
		t.Helper()
		if err := calls.Write(t.Context(), app); err != nil {
			t.Fatal(err)
		}
	}
	write()
	for _, status := range []int{200, 201, 304, 404, 400, 429, 503} {
		if told := calls.Count("k", status, 0, noon); told != (status >= 400) {
			t.Errorf("Count(%d) = %t", status, told)
		}
	}
	calls.Count("k", 200, 0, noon.Add(-time.Hour))
	calls.Count("", 401, 0, noon)
	write()
	calls.Count("k", 200, 0, noon)
	write()
	steps, err := activity.OfKey(app, "k", activity.Day(noon))
	if err != nil || steps[23] != (activity.Calls{Answered: 4, Refused: 2, Limited: 1, Failed: 1}) || steps[22] != (activity.Calls{Answered: 1}) {
		t.Errorf("the calls of the key are %v (%v)", steps, err)
	}
	all, err := activity.OfKeys(app, "", activity.Day(noon))
	if err != nil || all[23] != (activity.Calls{Answered: 4, Refused: 3, Limited: 1, Failed: 1}) {
		t.Errorf("all calls are %v (%v)", all, err)
	}
	minutes, err := activity.OfKey(app, "k", activity.Hour(noon))
	if err != nil || minutes[59] != (activity.Calls{Answered: 4, Refused: 2, Limited: 1, Failed: 1}) || minutes[58] != (activity.Calls{}) {
		t.Errorf("the last minutes have %v (%v)", minutes, err)
	}

	addKeys(t, app, "k", "other")
	for i := range 230 {
		calls.Keep("k", activity.Call{RequestID: fmt.Sprint(i), Method: "GET", Path: "/p", Status: 404, Code: "not_found", At: noon})
		if i%10 == 9 {
			write()
		}
	}
	calls.Keep("other", activity.Call{RequestID: "o", Status: 404, At: noon})
	write()
	kept, err := activity.FailedCalls(app, "k", activity.CallFilter{}, noon)
	if err != nil || len(kept) != 100 || kept[0].RequestID != "229" || kept[99].RequestID != "130" || !kept[0].At.Equal(noon) {
		t.Errorf("%d calls are kept, the first is %v (%v)", len(kept), kept[0], err)
	}
	for i := range 300 { // which leave the others
		calls.Keep("k", activity.Call{RequestID: fmt.Sprint("l", i), Method: "POST", Path: "/p/Batch", Status: 429, At: noon})
		if i%10 == 9 {
			write()
		}
	}
	for filter, want := range map[activity.CallFilter]int{
		{}: 200, {LeastStatus: 429, MostStatus: 429}: 100, {LeastStatus: 400, MostStatus: 428}: 100, {Method: "POST"}: 100,
		{Path: "batch"}: 100, {Path: "/P"}: 200, {Path: "%"}: 0, {LeastStatus: 500, MostStatus: 599}: 0,
	} {
		if kept, err := activity.FailedCalls(app, "k", filter, noon); err != nil || len(kept) != want {
			t.Errorf("%+v selects %d calls (%v)", filter, len(kept), err)
		}
	}
	if kept, err := activity.FailedCalls(app, "k", activity.CallFilter{}, noon.Add(activity.FailedCallsKept+time.Second)); err != nil || len(kept) != 0 {
		t.Errorf("after a week, %v are left (%v)", kept, err)
	}
}

// Calls that a cancelled write has left are stored by the next one.
func TestCancelledWrite(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	calls := activity.NewCallCounter()
	for i := range 600 { // more than are written together
		calls.Count(fmt.Sprint("k", i), 200, 0, noon)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := calls.Write(ended, app); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled write returns %v", err)
	}
	calls.Count("k0", 200, 0, noon)
	if err := calls.Write(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	all, err := activity.OfKeys(app, "", activity.Day(noon))
	if err != nil || all[23].Answered != 601 {
		t.Errorf("%d calls are counted (%v)", all[23].Answered, err)
	}
}

// The number of failed calls that are kept between two writes is limited, for each key and for all.
func TestFloodOfCalls(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	calls := activity.NewCallCounter()
	for key := range 100 {
		addKeys(t, app, fmt.Sprint(key))
		for i := range 100 {
			calls.Keep(fmt.Sprint(key), activity.Call{RequestID: fmt.Sprint(i), Status: 404, At: noon})
		}
	}
	if err := calls.Write(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	if n := testkit.Count(t, app, "SELECT count(*) FROM _keptCalls", nil); n != 1_000 {
		t.Errorf("%d calls are kept", n)
	}
	if kept, err := activity.FailedCalls(app, "0", activity.CallFilter{}, noon); err != nil || len(kept) != 20 || kept[0].RequestID != "99" {
		t.Errorf("%d calls of a key are kept (%v)", len(kept), err)
	}
}

// The calls of a key are deleted with it, and none is added afterwards.
func TestKeyDeletionDeletesCalls(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	testkit.Key(t, app, tenant)
	key, err := app.FindFirstRecordByData("api_keys", "tenant", tenant)
	if err != nil {
		t.Fatal(err)
	}
	calls := activity.NewCallCounter()
	addKeys(t, app, "another")
	keep := func() {
		t.Helper()
		calls.Keep(key.Id, activity.Call{Status: 404, At: noon})
		if err := calls.Write(t.Context(), app); err != nil {
			t.Fatal(err)
		}
	}
	calls.Keep("another", activity.Call{Status: 404, At: noon})
	keep()
	if err := app.Delete(key); err != nil {
		t.Fatal(err)
	}
	keep() // of a call that was under way
	if n := testkit.Count(t, app, "SELECT count(*) FROM _keptCalls", nil); n != 1 {
		t.Errorf("%d calls are left", n)
	}
}

// addKeys adds keys of a tenant.
func addKeys(t *testing.T, app core.App, ids ...string) {
	t.Helper()
	testkit.Execute(t, app, "INSERT OR IGNORE INTO tenants (id, name) VALUES ('ofKeys', 'Acme')", nil)
	for _, id := range ids {
		testkit.Execute(t, app, "INSERT INTO api_keys (id, tenant, name, hash) VALUES ({:id}, 'ofKeys', 'test', {:id})",
			dbx.Params{"id": id})
	}
}
