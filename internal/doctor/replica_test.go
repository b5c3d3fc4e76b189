package doctor_test

import (
	"strings"
	"testing"
	"time"

	"contactbase/internal/doctor"
	"contactbase/internal/replica"
	"contactbase/internal/testkit"
)

func TestReplicaOfAFolder(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	found := func(now time.Time) string {
		t.Helper()
		findings, err := doctor.Examine(t.Context(), app.DataDir(), "", now)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range findings {
			if f.Check == "replica" {
				return f.Status + ": " + f.Found
			}
		}
		return ""
	}
	if got := found(time.Now()); got != "" {
		t.Errorf("without a replica: %s", got)
	}
	r, err := replica.Open(replica.Config{URL: "file://" + t.TempDir(), Mode: replica.Sync, Interval: time.Hour, Timeout: time.Minute}, app.DataDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Start(app); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := r.Acknowledge(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.TestRestore(t.Context()); err != nil {
		t.Fatal(err)
	}
	for now, want := range map[time.Time]string{
		time.Now():                         doctor.OK + ": it is active",
		time.Now().Add(4 * 24 * time.Hour): doctor.Warning + ": the last restore test was on ",
	} {
		if got := found(now); !strings.HasPrefix(got, want) {
			t.Errorf("%q does not begin with %q", got, want)
		}
	}
}
