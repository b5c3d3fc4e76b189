package move_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/move"
	"contactbase/internal/tenant"
	"contactbase/internal/testkit"
)

// An interrupted import continues where it stopped, however often it is interrupted.
func TestResume(t *testing.T) {
	t.Parallel()
	s := newSource(t, 500)
	s.freeze(t)
	archive := s.export(t)
	target := newTarget(t)
	cuts := 0
	for ended := false; !ended; {
		ctx, cut := context.WithCancel(t.Context())
		start := -1
		err := importInto(ctx, t, target, archive, func(g *move.Target) {
			g.Resume = cuts > 0
			g.Progress = func(done, total int) {
				if start < 0 {
					start = done
				}
				if done-start > total/5 {
					cut()
				}
			}
		})
		cut()
		ended = err == nil
		if ended {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		cuts++
		if err := importInto(t.Context(), t, target, archive, nil); err == nil || !strings.Contains(err.Error(), "--resume") {
			t.Fatalf("without --resume it ends with %v", err)
		}
		if _, err := testkit.Create(target, s.tenant, contact.Changes{"name": "New"}); !tenant.IsMoving(err) {
			t.Fatalf("a tenant that arrives takes a contact: %v", err)
		}
		if _, err := tenant.Unfreeze(target, s.tenant); err == nil {
			t.Fatal("a tenant that arrives can be opened")
		}
	}
	if cuts < 3 {
		t.Errorf("it was cut off %d times", cuts)
	}
	equal(t, s, target)
}

// Another archive of the same tenant does not continue an import.
func TestResumeWithAnotherArchive(t *testing.T) {
	t.Parallel()
	s := newSource(t, 100)
	s.freeze(t)
	target := newTarget(t)
	ctx, cut := context.WithCancel(t.Context())
	err := importInto(ctx, t, target, s.export(t), func(g *move.Target) { g.Progress = func(int, int) { cut() } })
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	err = importInto(t.Context(), t, target, s.export(t), func(g *move.Target) { g.Resume = true })
	if err == nil || !strings.Contains(err.Error(), "from another archive") {
		t.Errorf("it ends with %v", err)
	}
}
