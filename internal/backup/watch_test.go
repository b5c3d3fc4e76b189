package backup

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// A removed database is noticed; one moved by a restore is not, whether the restore succeeds or fails.
func TestWatch(t *testing.T) {
	t.Parallel()
	type folder struct{ database, aside, marker string }
	move := func(from, to string) {
		if err := os.Rename(from, to); err != nil {
			t.Error(err)
		}
	}
	for what, tc := range map[string]struct {
		do   []func(f folder) // one before each check
		want error
	}{
		"untouched":  {[]func(folder){func(folder) {}, func(folder) {}}, nil},
		"written to": {[]func(folder){func(f folder) { write(t, f.database, "more") }}, nil},
		"removed":    {[]func(folder){func(f folder) { move(f.database, f.aside) }}, ErrReplaced},
		"replaced": {[]func(folder){func(f folder) {
			move(f.database, f.aside)
			write(t, f.database, "other")
		}}, ErrReplaced},
		"restored": {[]func(folder){func(f folder) {
			write(t, f.marker, "")
			move(f.database, f.aside)
			write(t, f.database, "other")
		}}, nil},
		"a restore that fails": {[]func(folder){
			func(f folder) {
				write(t, f.marker, "")
				move(f.database, f.aside)
			},
			func(f folder) {
				move(f.aside, f.database)
				if err := os.Remove(f.marker); err != nil {
					t.Error(err)
				}
			},
		}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			f := folder{filepath.Join(dir, dataFile), filepath.Join(dir, "aside"), filepath.Join(dir, markerName)}
			write(t, f.database, "some")
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- Watch(ctx, dir) }()
			synctest.Wait()
			for _, do := range tc.do {
				do(f)
				time.Sleep(watchInterval)
				synctest.Wait()
			}
			if early := len(ended) == 1; early != (tc.want != nil) {
				t.Errorf("%s: the watch has ended: %v", what, early)
			}
			cancel()
			if err := <-ended; !errors.Is(err, tc.want) || (err == nil) != (tc.want == nil) {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
}
