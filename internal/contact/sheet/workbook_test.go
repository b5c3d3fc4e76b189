package sheet_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"contactbase/internal/contact/sheet"
)

// A workbook is recognized by its content, and is read like CSV.
func TestWorkbook(t *testing.T) {
	t.Parallel()
	write := func(rows ...[]string) string {
		var b strings.Builder
		writer, err := sheet.NewWriter(&b, sheet.Workbook, rows[0])
		for _, row := range rows[1:] {
			err = errors.Join(err, writer.Write(row))
		}
		if err := errors.Join(err, writer.Close()); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	rows, err := readAll(t, write([]string{" name ", "company", ""}, []string{"Zoë"}, []string{"", ""}, []string{"Ada", "x", " "}))
	if want := [][]string{{"name", "company"}, {"Zoë", ""}, {"Ada", "x"}}; err != nil || !reflect.DeepEqual(rows, want) {
		t.Errorf("got %q (%v)", rows, err)
	}
	for wrong, file := range map[string]string{
		"is empty":                          write(nil),
		"the row has more than 1,000 cells": write(strings.Split(strings.Repeat("a,", 1001), ",")[:1001]),
	} {
		if _, err := readAll(t, file); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("got %v, want %q", err, wrong)
		}
	}
	if _, rows, err := read(t, write([]string{"a"}, []string{"x", "y"}), sheet.Choice{}); err != nil || !strings.Contains(rows[0].Warning, `"y"`) {
		t.Errorf("a cell below no heading: %+v (%v)", rows, err)
	}
	large := slices.Repeat([]string{strings.Repeat("x", 30_000)}, 40)
	if _, rows, err := read(t, write([]string{"a"}, large, []string{"x"}), sheet.Choice{}); err != nil || len(rows) != 2 ||
		rows[0].Refused != "the row has more than 1024 KiB: shorten it" || rows[1].Refused != "" || rows[1].Cells[0] != "x" {
		t.Errorf("a large row: %+v (%v)", rows, err)
	}
	if _, _, err := read(t, "name\nAda\n", sheet.Choice{Sheet: "Sheet1"}); err == nil || !strings.Contains(err.Error(), "it is not a workbook") {
		t.Errorf("a sheet of CSV: %v", err)
	}
}

// A file of another format is called by its name, with what to do.
func TestOtherFormats(t *testing.T) {
	t.Parallel()
	archive := func(names ...string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range names {
			if _, err := w.Create(name); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	const saveAs = `save the sheet without a password as "Excel Workbook (.xlsx)" or "CSV UTF-8"`
	for what, c := range map[string]struct {
		file string
		want []string
	}{
		"encrypted": {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + utf16("EncryptedPackage"), []string{"a workbook with a password", saveAs}},
		"docx":      {archive("[Content_Types].xml", "word/document.xml"), []string{"Word document", saveAs}},
		"ods":       {"PK\x03\x04" + strings.Repeat("\x00", 26) + "mimetypeapplication/vnd.oasis.opendocument.spreadsheet", []string{"OpenDocument", saveAs}},
		"zip":       {archive("contacts.csv"), []string{"ZIP archive", "unpack it"}},
		"empty zip": {archive(), []string{"ZIP archive"}},
		"xls":       {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 500), []string{"(.xls)", saveAs}},
		"gzip":      {"\x1f\x8b\x08\x00", []string{"gzip file", "unpack it"}},
		"pdf":       {"%PDF-1.7\n", []string{"PDF document"}},
		"ldif":      {"dn: cn=Ada,mail=ada@example.com\ncn: Ada\n", []string{"an address book in LDIF", "vCards (.vcf) or CSV"}},
		"ldif 1":    {"version: 1\n\ndn: cn=Ada\ncn: Ada\n", []string{"an address book in LDIF"}},
		"calendar":  {"BEGIN:VCALENDAR\r\nVERSION:2.0\r\n", []string{"a calendar", "vCards (.vcf) or CSV"}},
		"form":      {"--x\r\nContent-Disposition: form-data; name=\"file\"\r\n\r\nname,email\r\nAda,\r\n--x--\r\n", []string{"a form (multipart/form-data)", "--data-binary"}},
		"binary":    {"\x00\x00\x01\x02name", []string{"not a text file", saveAs}},
	} {
		_, err := readAll(t, c.file)
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, want %q", what, err, want)
			}
		}
	}
}

// The message about an empty first sheet names those that can be chosen.
func TestFirstSheetIsEmpty(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	defer func() { _ = book.Close() }()
	_, err := book.NewSheet("Contacts")
	err = errors.Join(err, book.SetCellValue("Contacts", "A1", "name"), book.SetCellValue("Contacts", "A2", "Ada"))
	var file strings.Builder
	if err := errors.Join(err, book.Write(&file)); err != nil {
		t.Fatal(err)
	}
	const want = "its first sheet is empty: choose one of the sheets"
	if _, _, err := read(t, file.String(), sheet.Choice{}); err == nil || !strings.Contains(err.Error(), want) ||
		!strings.Contains(err.Error(), "Contacts") {
		t.Errorf("an empty first sheet: %v", err)
	}
}

// A sheet is chosen by its name, ignoring case. Without a choice, the first sheet is read.
func TestSheetIsChosen(t *testing.T) {
	t.Parallel()
	book := excelize.NewFile()
	defer func() { _ = book.Close() }()
	err := book.SetSheetName("Sheet1", "First")
	for sheet, name := range map[string]string{"First": "Ann", "Second": "Bob", "Third": "Cid"} {
		_, wrong := book.NewSheet(sheet)
		err = errors.Join(err, wrong, book.SetCellValue(sheet, "A1", "name"), book.SetCellValue(sheet, "A2", name))
	}
	var file strings.Builder
	if err := errors.Join(err, book.Write(&file)); err != nil {
		t.Fatal(err)
	}
	for choice, want := range map[string]string{"": "Ann", "First": "Ann", "Second": "Bob", "third": "Cid"} {
		if _, rows, err := read(t, file.String(), sheet.Choice{Sheet: choice}); err != nil || len(rows) != 1 || rows[0].Cells[0] != want {
			t.Errorf("the sheet %q has %v (%v), not %s", choice, rows, err, want)
		}
	}
	if _, _, err := read(t, file.String(), sheet.Choice{Sheet: "Fourth"}); err == nil || !strings.Contains(err.Error(), `has no sheet named "Fourth"`) {
		t.Errorf("a sheet that is missing: %v", err)
	}
}

// Cells of any size up to the limit come whole, and take nothing from the rows around them.
func TestLargeCells(t *testing.T) {
	t.Parallel()
	for _, size := range []int{15 << 10, 17 << 10, 41 << 10, 100 << 10, 256 << 10} {
		long := strings.Repeat("a\n, ", size/4)
		rows, err := readAll(t, "name,company\nfirst,1\n\""+long+"\","+large(size)+"\nlast,2\n")
		if want := [][]string{{"name", "company"}, {"first", "1"}, {long, large(size)}, {"last", "2"}}; err != nil || !reflect.DeepEqual(rows, want) {
			t.Errorf("of cells of %d bytes %d rows come (%v)", size, len(rows), err)
		}
	}
}
