package wire_test

import (
	"testing"

	"contactbase/internal/wire"
)

func TestAppendJSON(t *testing.T) {
	t.Parallel()
	got, err := wire.AppendJSON([]byte("before "), map[string]any{"name": "<Grace> & \"co\"\n"})
	if want := `before {"name":"<Grace> & \"co\"\n"}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v, not %s", got, err, want)
	}
	if got, err := wire.AppendJSON(nil, func() {}); err == nil {
		t.Errorf("a function is encoded as %s", got)
	}
}
