package stamp_test

import (
	"testing"
	"time"

	"github.com/pocketbase/pocketbase/tools/types"

	"contactbase/internal/stamp"
)

func TestStamp(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 4, 17, 20, 11, 9_999_999, time.FixedZone("CET", 3600))
	const stored, shown = "2026-03-04 16:20:11.009Z", "2026-03-04T16:20:11.009Z"
	if got := stamp.Stored(at); got != stored {
		t.Errorf("stored: %s", got)
	}
	if date, err := types.ParseDateTime(at); err != nil || date.String() != stored {
		t.Errorf("PocketBase stores %s, %v", date, err)
	}
	for what, got := range map[string]string{"Shown": stamp.Shown(at), "AppendShown": string(stamp.AppendShown(nil, at)), "Show": stamp.Show(stored)} {
		if got != shown {
			t.Errorf("%s: %s", what, got)
		}
	}
	if got := stamp.Parse(stored); !got.Equal(at.Truncate(time.Millisecond)) {
		t.Errorf("read back: %s", got)
	}
	for _, none := range []string{"", "soon", shown} {
		if got := stamp.Parse(none); !got.IsZero() {
			t.Errorf("%q: %s", none, got)
		}
	}
	if got := stamp.Store(shown); got != stored {
		t.Errorf("stored again: %s", got)
	}
	if got := stamp.Show(""); got != "" {
		t.Errorf("the empty time is shown as %q", got)
	}
}
