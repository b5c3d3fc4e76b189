package replica

import (
	"os"
	"testing"
	"time"
)

// Nobody follows a generation in a folder that could not be emptied of another one.
func TestFollowerNeedsItsFolder(t *testing.T) {
	t.Parallel()
	r := newLeased(t, newFake(t), time.Hour)
	s := &standby{replica: r, report: t.Logf}
	t.Cleanup(s.stop)
	if err := os.WriteFile(r.path(""), nil, 0o600); err != nil { // where the folder around it belongs
		t.Fatal(err)
	}
	if err := s.follow(2); err == nil || s.follower != nil {
		t.Errorf("it follows all the same: %v", err)
	}
	if err := os.Remove(r.path("")); err != nil {
		t.Fatal(err)
	}
	if err := s.follow(2); err != nil || s.follower == nil {
		t.Errorf("it does not follow once it can: %v", err)
	}
}
