package app

import "testing"

func TestInFlightFitsIntoTheFiles(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		asked int
		files uint64
		want  int
	}{
		{0, 0, 4096}, {0, 1 << 20, 4096}, {0, 1024, 256}, {100, 1024, 100}, {300, 1024, 256}, {1, 2, 1}, {65536, 1 << 63, 65536},
	} {
		if got := inFlight(c.asked, c.files); got != c.want {
			t.Errorf("of %d with %d files: got %d, want %d", c.asked, c.files, got, c.want)
		}
	}
	if openFiles() == 1 {
		t.Error("the limit of this process is unknown")
	}
}
