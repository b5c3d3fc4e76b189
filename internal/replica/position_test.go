package replica_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/superfly/ltx"

	"contactbase/internal/replica"
	"contactbase/internal/replica/fakes3"
	"contactbase/internal/testkit"
)

func leased(url string) replica.Config {
	c := config(url)
	c.Lease = time.Hour
	return c
}

// serve makes a machine serve, write that many tenants that are acknowledged, and stop.
func serve(t *testing.T, r *replica.Replica, app core.App, tenants int) {
	t.Helper()
	if err := r.Start(app); err != nil {
		t.Fatal(err)
	}
	for range tenants {
		testkit.Tenant(t, app, "Acme")
		acknowledged(t, r)
	}
	if err := r.Stop(); err != nil {
		t.Fatal(err)
	}
}

// begun returns a machine that has served and stopped, and the store with its tenants.
func begun(t *testing.T, tenants int) (*replica.Replica, core.App, *fakes3.Store) {
	t.Helper()
	s := newStore(t)
	app := testkit.NewApp(t)
	r := open(t, leased(s.URL("x")), app.DataDir())
	runStandby(t, r)
	serve(t, r, app, tenants)
	return r, app, s
}

func runStandby(t *testing.T, r *replica.Replica) {
	t.Helper()
	if err := r.RunStandby(t.Context(), t.Logf); err != nil {
		t.Fatal(err)
	}
}

// taken makes a machine take over, and returns its number of tenants.
func taken(t *testing.T, r *replica.Replica, folder string) int {
	t.Helper()
	runStandby(t, r)
	if err := replica.ReleaseLease(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return testkit.Count(t, testkit.Open(t, folder), "SELECT count(*) FROM tenants", nil)
}

// files returns the names of the objects of a database, the oldest transaction first.
func files(t *testing.T, r *replica.Replica) (names []string) {
	t.Helper()
	for _, level := range []int{0, 1, 2, 3, 9} {
		objects, err := replica.StoreOf(r).List(t.Context(), fmt.Sprintf("1/data.db/ltx/%d", level))
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range objects {
			names = append(names, object.Name)
		}
	}
	return names
}

// A file that is missing from a generation is an error, wherever it is, and so is a missing generation.
func TestGapsAreRefused(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		missing func(first, last ltx.TXID, count int, index int) bool
		says    string
	}{
		"the first file": {func(first, _ ltx.TXID, _, _ int) bool { return first == 1 }, "contains nothing that can be restored, but writes up to 1/"},
		"one in between": {func(_, _ ltx.TXID, count, index int) bool { return index == count/2 }, "the replica ends at 1/"},
		"the last file":  {func(_, _ ltx.TXID, count, index int) bool { return index == count-1 }, "the replica ends at 1/"},
		"all of them":    {func(ltx.TXID, ltx.TXID, int, int) bool { return true }, "contains nothing that can be restored, but writes up to 1/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			holder, _, s := begun(t, 6)
			all := files(t, holder)
			// there is no snapshot, only the files of transactions
			var kept []string
			for _, file := range all {
				if strings.Contains(file, "/ltx/0/") {
					kept = append(kept, file)
				} else if err := replica.StoreOf(holder).Delete(t.Context(), []string{file}); err != nil {
					t.Fatal(err)
				}
			}
			for index, file := range kept {
				first, last, err := ltx.ParseFilename(filepath.Base(file))
				if err == nil && test.missing(first, last, len(kept), index) {
					err = replica.StoreOf(holder).Delete(t.Context(), []string{file})
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			replica.StandbyUntil(t, open(t, leased(s.URL("x")), t.TempDir()), test.says)
		})
	}
}

// An acknowledged generation is never skipped for the previous one, whatever the store lists, unless an operator
// accepts that loss, once.
func TestOlderGenerationIsRefused(t *testing.T) {
	t.Parallel()
	first, _, s := begun(t, 3)
	folder := t.TempDir()
	second := open(t, leased(s.URL("x")), folder)
	runStandby(t, second)
	serve(t, second, testkit.Open(t, folder), 2)
	before, older := replica.ReadLock(t, first), replica.Whole(t, first, 1)
	if before.Generation != 2 || before.Acknowledged.Generation != 2 || before.From != older {
		t.Fatalf("the lock record is %+v", before)
	}
	// as a listing that is wrong says
	if err := replica.StoreOf(first).DeleteFolder(t.Context(), "2/data.db"); err != nil {
		t.Fatal(err)
	}
	loss := fmt.Sprintf("%s..%s", older, before.Acknowledged)
	refusal := fmt.Sprintf("the replica ends at %s, but writes up to %s were acknowledged: start the machine that served last, or accept the loss with --replicaAcceptLoss=%s", older, before.Acknowledged, loss)
	folder = t.TempDir()
	third := open(t, leased(s.URL("x")), folder)
	replica.StandbyUntil(t, third, refusal)
	replica.Accept(t, third, older.String()+"..1/1") // another loss
	replica.StandbyUntil(t, third, refusal)
	if _, err := third.Restore(t.Context(), filepath.Join(t.TempDir(), "restored")); err == nil || !strings.Contains(err.Error(), refusal) {
		t.Errorf("a restore ends with %v", err)
	}
	replica.Accept(t, third, loss)
	if count := taken(t, third, folder); count != 3 {
		t.Errorf("%d of 3 tenants of the first generation exist", count)
	}
	if after := replica.ReadLock(t, third); after.Generation != 3 || after.From != older {
		t.Errorf("the lock record is %+v", after)
	}
}

// Without lock.json the last acknowledged position is unknown. A store with generations does not count as new.
func TestLostLockRecord(t *testing.T) {
	t.Parallel()
	first, _, s := begun(t, 2)
	if err := replica.StoreOf(first).Delete(t.Context(), []string{"lock.json"}); err != nil {
		t.Fatal(err)
	}
	at, folder := replica.Whole(t, first, 1), t.TempDir()
	standby := open(t, leased(s.URL("x")), folder)
	replica.StandbyUntil(t, standby, "lock.json is missing from the store: start the machine that served last, or accept the loss with --replicaAcceptLoss="+at.String()+"..")
	replica.Accept(t, standby, at.String()+"..")
	if count := taken(t, standby, folder); count != 2 {
		t.Errorf("%d of 2 tenants are there", count)
	}
	if after := replica.ReadLock(t, standby); after.Generation != 2 {
		t.Errorf("the lock record is %+v", after)
	}
}

// A takeover retries all requests that fail, and loses nothing.
func TestTakeoverRetriesRequests(t *testing.T) {
	t.Parallel()
	_, _, s := begun(t, 5)
	folder := t.TempDir()
	standby := open(t, leased(s.URL("x")), folder)
	var failing atomic.Int64
	s.Break(func(w http.ResponseWriter, request *http.Request, _ http.Handler) bool {
		if request.Method != http.MethodGet || strings.HasSuffix(request.URL.Path, "lock.json") || failing.Add(1)%3 == 0 {
			return false
		}
		switch failing.Load() % 4 {
		case 0:
			w.WriteHeader(http.StatusNotFound)
		case 1:
			http.Error(w, "<html>not found</html>", http.StatusNotFound)
		case 2:
			w.WriteHeader(http.StatusInternalServerError)
		default:
			panic(http.ErrAbortHandler) // a connection that is cut off
		}
		return true
	})
	if count := taken(t, standby, folder); count != 5 {
		t.Errorf("%d of 5 tenants are there", count)
	}
	if failing.Load() == 0 {
		t.Error("nothing failed")
	}
}

// A data directory that was reset to an old state, for example by a snapshot of a virtual machine, is not served,
// although the holder wrote it.
func TestOutdatedDataDirectory(t *testing.T) {
	t.Parallel()
	_, app, s := begun(t, 2)
	earlier := filepath.Join(t.TempDir(), "earlier")
	if err := os.CopyFS(earlier, os.DirFS(app.DataDir())); err != nil {
		t.Fatal(err)
	}
	again := open(t, leased(s.URL("x")), app.DataDir())
	runStandby(t, again)
	serve(t, again, app, 1)
	if count := taken(t, open(t, leased(s.URL("x")), earlier), earlier); count != 3 {
		t.Errorf("%d of 3 tenants are there", count)
	}
}

// The same without a lease: a database that lacks some of the replica does not continue it, unless an
// operator accepts that.
func TestOutdatedDataDirectoryWithoutLease(t *testing.T) {
	t.Parallel()
	url := newStore(t).URL("x")
	app := testkit.NewApp(t)
	once := func() {
		t.Helper()
		r := open(t, config(url), app.DataDir())
		serve(t, r, app, 1)
	}
	once()
	earlier := filepath.Join(t.TempDir(), "earlier")
	if err := os.CopyFS(earlier, os.DirFS(app.DataDir())); err != nil {
		t.Fatal(err)
	}
	once()
	back, stop := start(t, config(url), testkit.Open(t, earlier))
	testkit.Eventually(t, "a refusal", func() bool {
		found := back.Status().Error
		return found != nil && strings.Contains(*found, "the data directory ends at 1/") && strings.Contains(*found, "--replicaAcceptLoss=1/")
	})
	refusal := *back.Status().Error
	stop()
	_, loss, _ := strings.Cut(refusal, "--replicaAcceptLoss=")
	loss, _, _ = strings.Cut(loss, " ")
	accepting := config(url)
	if err := accepting.AcceptLoss.Set(loss); err != nil {
		t.Fatal(err)
	}
	accepted, _ := start(t, accepting, testkit.Open(t, earlier))
	acknowledged(t, accepted)
	if generation := accepted.Status().Generation; generation != 2 {
		t.Errorf("it continues generation %d", generation)
	}
}

// A stop that could not upload everything reports what is missing. No standby takes over without that, unless an
// operator accepts the loss. The machine itself can serve again.
func TestIncompleteStop(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	app := testkit.NewApp(t)
	async := leased(s.URL("x"))
	async.Mode, async.Interval = replica.Async, 50*time.Millisecond
	holder := open(t, async, app.DataDir())
	replica.StopWithin(holder, time.Second)
	runStandby(t, holder)
	if err := holder.Start(app); err != nil {
		t.Fatal(err)
	}
	testkit.Tenant(t, app, "Sent")
	testkit.Eventually(t, "an upload", func() bool { return holder.Status().State == replica.Active && holder.Status().LagTransactions == 0 })
	s.Break(func(w http.ResponseWriter, request *http.Request, _ http.Handler) bool {
		if request.Method == http.MethodPut && strings.HasSuffix(request.URL.Path, ".ltx") {
			w.WriteHeader(http.StatusInternalServerError)
			return true
		}
		return false
	})
	for range 3 {
		testkit.Tenant(t, app, "Missing")
	}
	if err := holder.Stop(); err == nil || !strings.Contains(err.Error(), "stopped with 3 transactions missing from the replica") {
		t.Errorf("Stop returned %v", err)
	}
	s.Break(nil)
	left := replica.ReadLock(t, holder)
	if left.Unshipped != 3 || !left.Released {
		t.Fatalf("the lock record is %+v", left)
	}
	refusal := fmt.Sprintf("stopped before 3 transactions reached the replica (%s+3): start that machine again", left.Acknowledged)
	standby := open(t, async, t.TempDir())
	replica.StandbyUntil(t, standby, refusal)
	if _, err := standby.Restore(t.Context(), filepath.Join(t.TempDir(), "restored")); err == nil || !strings.Contains(err.Error(), refusal) {
		t.Errorf("a restore ends with %v", err)
	}
	if count := taken(t, open(t, async, app.DataDir()), app.DataDir()); count != 4 {
		t.Errorf("%d of 4 tenants are there", count)
	}

	// it stopped again before an upload: the store still lacks them
	if left := replica.ReadLock(t, holder); left.Generation != 2 || left.Unshipped != 3 {
		t.Errorf("after a stop without an upload, the lock record is %+v", left)
	}
	replica.StandbyUntil(t, open(t, async, t.TempDir()), refusal)
	again := open(t, async, app.DataDir())
	runStandby(t, again)
	serve(t, again, app, 0)
	if left := replica.ReadLock(t, holder); left.Generation != 3 || left.Unshipped != 0 {
		t.Errorf("after an upload, the lock record is %+v", left)
	}
	if count := taken(t, open(t, async, app.DataDir()), app.DataDir()); count != 4 {
		t.Errorf("%d of 4 tenants are there after an upload", count)
	}
}

// A machine does not serve less than the store had when it took the lease, even if lock.json did not name
// that position yet.
func TestFilesVanishDuringATakeover(t *testing.T) {
	t.Parallel()
	holder, _, s := begun(t, 6)
	content, tag, err := replica.StoreOf(holder).Read(t.Context(), "lock.json")
	if err != nil {
		t.Fatal(err)
	}
	// as after the first upload
	earlier := regexp.MustCompile(`"position":\d+`).ReplaceAll(content, []byte(`"position":1`))
	if _, err := replica.StoreOf(holder).Swap(t.Context(), "lock.json", earlier, tag); err != nil {
		t.Fatal(err)
	}
	newest := replica.Whole(t, holder, 1).Transaction
	var vanish []string
	for _, file := range files(t, holder) {
		if _, last, err := ltx.ParseFilename(filepath.Base(file)); err == nil && last == newest {
			vanish = append(vanish, file)
		}
	}
	var once sync.Once
	s.Break(func(_ http.ResponseWriter, request *http.Request, _ http.Handler) bool {
		if request.Method == http.MethodPut && strings.HasSuffix(request.URL.Path, "/lock.json") {
			once.Do(func() {
				if err := replica.StoreOf(holder).Delete(context.Background(), vanish); err != nil {
					t.Error(err)
				}
			})
		}
		return false
	})
	standby := open(t, leased(s.URL("x")), t.TempDir())
	if err := standby.RunStandby(t.Context(), t.Logf); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("writes up to 1/%d were acknowledged", uint64(newest))) {
		t.Errorf("the standby ended with %v", err)
	}
	if left := replica.ReadLock(t, holder); !left.Released || left.From.Transaction != newest {
		t.Errorf("the lock record is %+v", left)
	}
	replica.StandbyUntil(t, open(t, leased(s.URL("x")), t.TempDir()), fmt.Sprintf("writes up to 1/%d were acknowledged", uint64(newest)))
}

func TestLoss(t *testing.T) {
	t.Parallel()
	for text, valid := range map[string]bool{"1/57..2/500": true, "1/57..2/500+30": true, "1/57..": true, "1/57": false, "0/1..2/3": false, "a..b": false, "1..2": false} {
		var loss replica.Loss
		if err := loss.Set(text); (err == nil) != valid || valid && loss.String() != text {
			t.Errorf("%s: %q, %v", text, loss.String(), err)
		}
	}
}
