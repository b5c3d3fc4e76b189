package xlsx_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"contactbase/internal/testkit/measure"
	"contactbase/internal/xlsx"
)

// Many rows can share a text, but a small workbook cannot repeat a long text or format without end.
func TestSharedTextsAreBounded(t *testing.T) {
	t.Parallel()
	share := func(texts, length, rows int) parts {
		var shared, cells strings.Builder
		for i := range texts {
			fmt.Fprintf(&shared, "<si><t>%0*d</t></si>", length, i)
		}
		for i := range rows {
			fmt.Fprintf(&cells, `<row><c t="s"><v>%d</v></c></row>`, i%texts)
		}
		return book(cells.String()).with("sharedStrings", "<sst>"+shared.String()+"</sst>")
	}
	numbers := func(code string) parts {
		rows := strings.Repeat(`<row><c s="0"><v>1e300</v></c></row>`, 100_000)
		styles := `<styleSheet><numFmt numFmtId="200" formatCode="` + code +
			`"/><cellXfs><xf numFmtId="200"/></cellXfs></styleSheet>`
		return book(rows).with("styles", styles)
	}
	for what, c := range map[string]struct {
		book parts
		want int // rows, 0 if they repeat too much
	}{
		"a remark":            {share(1, 500, 30_000), 30_000},
		"remarks on disk":     {share(9_000, 500, 20_000), 20_000},
		"short texts":         {share(3, 100, 100_000), 100_000},
		"a long text":         {share(1, 1_000_000, 30_000), 0},
		"a text of a cell":    {share(1, 32_767, 30_000), 0},
		"texts of many cells": {share(600, 32_767, 30_000), 0},
		"long formats":        {numbers(strings.Repeat("0x", 127)), 0},
	} {
		rows, err := readAll(t, c.book.zip(t), "")
		switch {
		case c.want == 0 && (err == nil || !strings.Contains(err.Error(), "repeat long texts: shorten those")):
			t.Errorf("%s: got %v", what, err)
		case c.want != 0 && (err != nil || len(rows) != c.want || strings.Trim(rows[2][0], "0") != "1" && what != "a remark"):
			t.Errorf("%s: got %d rows (%v)", what, len(rows), err)
		}
	}
}

// A row that is too large is refused, and those below it are read.
func TestRowsAreBounded(t *testing.T) {
	t.Parallel()
	long := `<c t="inlineStr"><is><t>` + strings.Repeat("x", 600<<10) + `</t></is></c>`
	file := book(`<row>` + long + long +
		`</row><row><c r="ALM2"><v>1</v></c></row><row><c r="ALL3"><v>1</v></c><c r="XFD3"/></row>`).zip(t)
	reader, err := xlsx.Open(t.Context(), bytes.NewReader(file), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for _, want := range []string{"has more than 1024 KiB: shorten it",
		"has more than 1,000 cells: delete the columns that you do not need"} {
		cells, row, err := reader.Read()
		if wrong, ok := errors.AsType[*xlsx.RowError](err); !ok || wrong.Row != row || wrong.Reason != want || cells != nil {
			t.Errorf("got %v, %v, want %q", cells, err, want)
		}
	}
	if cells, row, err := reader.Read(); err != nil || row != 3 || len(cells) != 1000 {
		t.Errorf("got %d cells in row %d: %v", len(cells), row, err)
	}
	if _, _, err := reader.Read(); !errors.Is(err, io.EOF) {
		t.Errorf("the sheet ends with %v", err)
	}
}

// A row with one far cell takes no memory for the cells before it, and shows nothing of the row before.
func TestFarCells(t *testing.T) { // not beside other tests, because it measures the process
	const n = 2_000
	file := book(strings.Repeat(`<row><c r="ALL1"><v>1</v></c></row><row><c r="C1"><v>2</v></c></row>`, n)).zip(t)
	reader, err := xlsx.Open(t.Context(), bytes.NewReader(file), t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	allocated := measure.Allocated(func() {
		for i := range 2 * n {
			cells, _, err := reader.Read()
			if err != nil || strings.Join(cells, "") != []string{"1", "2"}[i%2] || len(cells) != []int{1000, 3}[i%2] {
				t.Fatalf("row %d: %q, %v", i, cells, err)
			}
		}
	})
	if most := uint64(2 * n * 4 << 10); allocated > most {
		t.Errorf("%d rows allocate %d bytes, more than %d", 2*n, allocated, most)
	}
}
