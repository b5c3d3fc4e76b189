package activity_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"contactbase/internal/activity"
	"contactbase/internal/testkit"
)

// The slowest calls of a key in the last day are kept, however the calls of the day follow one another and across
// restarts, in few rows. Calls without a key, or that waited, are not slow.
func TestSlowestCalls(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	random := rand.New(rand.NewPCG(3, 4))
	var want []int
	addKeys(t, app, "k")
	calls := activity.NewCallCounter()
	for i, took := range random.Perm(4_000) {
		at := noon.Add(-26*time.Hour + time.Duration(i)*24*time.Second) // over 26 hours and 40 minutes
		call := activity.Call{RequestID: fmt.Sprint(took), Status: 200, Took: time.Duration(took) * time.Millisecond, At: at}
		if calls.Count("k", 200, call.Took, at) {
			calls.Keep("k", call)
		}
		if !at.Before(noon.Add(-24 * time.Hour)) {
			want = append(want, took)
		}
		if i%30 == 0 {
			if err := calls.Write(t.Context(), app); err != nil {
				t.Fatal(err)
			}
		}
		if i%600 == 0 { // after a write
			calls = activity.NewCallCounter()
		}
	}
	for _, call := range []activity.Call{{Took: time.Hour, At: noon}, {Took: 0, At: noon}} {
		if key := map[bool]string{true: "", false: "waits"}[call.Took > 0]; calls.Count(key, 200, call.Took, noon) {
			t.Errorf("a call of %q that took %s is slow", key, call.Took)
		}
	}
	if err := calls.Write(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	slices.Reverse(want)
	slowest, err := activity.SlowestCalls(app, "k", activity.CallFilter{}, noon)
	got := ""
	for _, call := range slowest {
		got += call.RequestID + " "
		if call.RequestID != fmt.Sprint(call.Took.Milliseconds()) {
			t.Errorf("read is %+v", call)
		}
	}
	if fmt.Sprintf("[%s]", got[:max(0, len(got)-1)]) != fmt.Sprint(want[:10]) || err != nil {
		t.Errorf("the slowest are %s (%v), not %v", got, err, want[:10])
	}
	if failed, err := activity.FailedCalls(app, "k", activity.CallFilter{}, noon); err != nil || len(failed) != 0 {
		t.Errorf("%v failed (%v)", failed, err)
	}
	if most := testkit.Count(t, app, "SELECT max(n) FROM (SELECT count(*) AS n FROM _keptCalls GROUP BY substr(created, 1, 13))", nil); most != 10 {
		t.Errorf("an hour has up to %d rows", most)
	}
}
