package wire_test

import (
	"bytes"
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

func TestAppendString(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "Grace", `a "b" \ c`, "<&>", "line\nbreak", "\x00\x7f", "Žofie 🙂", "\u2028", "\xff"} {
		want, err := wire.AppendJSON([]byte("before "), text)
		if err != nil {
			t.Fatal(err)
		}
		if got := wire.AppendString([]byte("before "), text); !bytes.Equal(got, want) {
			t.Errorf("%q is encoded as %s, not %s", text, got, want)
		}
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ depth, values int }{
		`1`:                       {0, 1},
		`"[[{,"`:                  {0, 1},
		`"\\\"[[{,"`:              {0, 1},
		`["\\",[1]]`:              {2, 4},
		`{"a":[1,2],"b":{"c":3}}`: {2, 6},
		`[[],[],[[]]]`:            {3, 8},
		`]]]][`:                   {0, 2}, // which is not JSON
		``:                        {0, 1},
	} {
		if depth, values := wire.Measure([]byte(text)); depth != want.depth || values != want.values {
			t.Errorf("%s is %d levels deep and has %d values", text, depth, values)
		}
	}
}
