package replica_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"contactbase/internal/replica"
	"contactbase/internal/testkit"
)

// The server refuses a data directory that lacks what the replica has, before it opens it and afterwards, and leaves
// the replica unchanged.
func TestUnrelatedDataDirectory(t *testing.T) {
	t.Parallel()
	for kind, url := range map[string]string{"folder": "file://" + t.TempDir(), "bucket": newStore(t).URL("x")} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			app := testkit.NewApp(t)
			copied := func() string {
				to := filepath.Join(t.TempDir(), "copy")
				if err := os.CopyFS(to, os.DirFS(app.DataDir())); err != nil {
					t.Fatal(err)
				}
				if err := os.RemoveAll(filepath.Join(to, ".contactbase_replica")); err != nil {
					t.Fatal(err)
				}
				return to
			}
			before := copied()
			serve(t, open(t, config(url), app.DataDir()), app, 2)
			after := copied()
			other := testkit.NewApp(t)
			serve(t, open(t, config("file://"+t.TempDir()), other.DataDir()), other, 9)
			outdated := restored(t, config(url))
			serve(t, open(t, config(url), app.DataDir()), app, 1)
			last := replica.ReadLock(t, open(t, config(url), app.DataDir()))
			for name, test := range map[string]struct{ folder, says string }{
				"empty":                {t.TempDir(), "is new, restored from a backup, or of another installation, but writes up to 1/"},
				"backup from before":   {before, "is new, restored from a backup"},
				"backup from after":    {after, "is new, restored from a backup"},
				"another installation": {other.DataDir(), "or of another installation"},
				"restored too early":   {outdated, "the data directory ends at 1/"},
			} {
				wantRefusal(t, name, config(url), test.folder, test.says)
			}
			if now := replica.ReadLock(t, open(t, config(url), app.DataDir())); now != last {
				t.Errorf("the lock record was %+v and is %+v", last, now)
			}
			if count := testkit.Count(t, testkit.Open(t, restored(t, config(url))), "SELECT count(*) FROM tenants", nil); count != 3 {
				t.Errorf("%d of 3 tenants are restored", count)
			}
			accept(t, config(url), before)
		})
	}
}

// restored returns a data directory restored from a replica.
func restored(t *testing.T, c replica.Config) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "restored")
	if _, err := open(t, c, t.TempDir()).Restore(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

func wantRefusal(t *testing.T, name string, c replica.Config, folder, says string) {
	t.Helper()
	for _, mode := range []replica.Mode{replica.Async, replica.Sync} {
		c.Mode = mode
		r := open(t, c, folder)
		if err := r.Check(t.Context()); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), "contactbase replica restore") {
			t.Errorf("%s, %s, before the start: %v", name, mode, err)
		}
		if err := r.Start(testkit.Open(t, folder)); err != nil {
			t.Fatal(err)
		}
		if err := r.AwaitLoss(t.Context()); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s, %s, after the start: %v", name, mode, err)
		}
		_ = r.Stop() // it says the same
	}
}

// accept starts with the flag that the refusal names.
func accept(t *testing.T, c replica.Config, folder string) {
	t.Helper()
	err := open(t, c, folder).Check(t.Context())
	if err == nil {
		t.Fatal("the data directory was accepted")
	}
	_, loss, _ := strings.Cut(err.Error(), "--replicaAcceptLoss=")
	if err := c.AcceptLoss.Set(loss); err != nil {
		t.Fatal(err)
	}
	r, stop := start(t, c, testkit.Open(t, folder))
	acknowledged(t, r)
	if generation := r.Status().Generation; generation != 2 {
		t.Errorf("it writes generation %d", generation)
	}
	stop()
	c.AcceptLoss = replica.Loss{}
	if err := open(t, c, folder).Check(t.Context()); err != nil {
		t.Errorf("without the flag, later: %v", err)
	}
}

// Until the store has something, any data directory may begin. A replica whose address has changed still has the
// same data directory.
func TestRelatedDataDirectory(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	failed := testkit.NewApp(t)
	s.Break(func(w http.ResponseWriter, request *http.Request, _ http.Handler) bool {
		refused := strings.HasSuffix(request.URL.Path, ".ltx")
		if refused {
			w.WriteHeader(http.StatusInternalServerError)
		}
		return refused
	})
	r, stop := start(t, config(s.URL("x")), failed)
	testkit.Eventually(t, "a failed upload", func() bool { return r.Status().Error != nil })
	stop()
	s.Break(nil)
	app := testkit.NewApp(t)
	serve(t, open(t, config(s.URL("x")), app.DataDir()), app, 1)
	moved := config(s.URL("x") + "&region=elsewhere")
	for generation := range int64(2) {
		again, stop := start(t, moved, app)
		acknowledged(t, again)
		if found := again.Status().Generation; found != 3 {
			t.Errorf("start %d after the address changed writes generation %d", generation, found)
		}
		stop()
	}
	elsewhere, _ := start(t, config("file://"+t.TempDir()), app)
	acknowledged(t, elsewhere)
}
