package replica

import (
	"os"
	"testing"
	"time"
)

// A standby does not follow a generation if it cannot delete the copies of another one.
func TestFollowNeedsEmptyDirectory(t *testing.T) {
	t.Parallel()
	r := newLeased(t, newFake(t), time.Hour)
	s := &standby{replica: r, report: t.Logf}
	t.Cleanup(s.stop)
	if err := os.WriteFile(r.path(""), nil, 0o600); err != nil { // in place of its parent directory
		t.Fatal(err)
	}
	if err := s.follow(2); err == nil || s.follower != nil {
		t.Errorf("follows anyway: %v", err)
	}
	if err := os.Remove(r.path("")); err != nil {
		t.Fatal(err)
	}
	if err := s.follow(2); err != nil || s.follower == nil {
		t.Errorf("does not follow although it could: %v", err)
	}
}
