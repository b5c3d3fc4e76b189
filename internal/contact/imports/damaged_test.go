package imports_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
	"contactbase/internal/testenv"
	"contactbase/internal/testkit"
)

// A workbook that is cut off, that lacks a byte, or of which a byte has changed is the fault of the file and not of the
// disk, wherever that is.
func TestDamagedWorkbook(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	acme := testkit.Tenant(t, app, "Acme")
	var file bytes.Buffer
	writer, err := sheet.NewWriter(&file, sheet.Workbook, []string{"name", "email"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(writer.Write([]string{"Ada", "ada@example.com"}), writer.Close()); err != nil {
		t.Fatal(err)
	}
	whole := file.Bytes()
	refused := 0
	try := func(what string, at int, damaged []byte) {
		_, err := imports.Store(t.Context(), app, acme, imports.Source{Name: "contacts.xlsx"}, bytes.NewReader(damaged))
		var wrong *fault.Error
		if err != nil && (!errors.As(err, &wrong) || wrong.Code != fault.ValidationFailed) {
			t.Errorf("with byte %d of %d %s: %v", at, len(whole), what, err)
		}
		if err != nil {
			refused++
			return
		}
		testkit.Execute(t, app, "DELETE FROM _imports", nil) // not above the quota
	}
	step := testenv.Count(3, 1)
	for at := 0; at < len(whole); at += step {
		try("and all behind it missing", at, whole[:at])
		try("missing", at, slices.Delete(slices.Clone(whole), at, at+1))
		try("twice", at, slices.Insert(slices.Clone(whole), at, whole[at]))
		for _, mask := range []byte{1, 0x80, 0xff} {
			flipped := slices.Clone(whole)
			flipped[at] ^= mask
			try("changed", at, flipped)
		}
	}
	if refused < len(whole)/step {
		t.Errorf("of %d bytes only %d damages are noticed", len(whole), refused)
	}
}
