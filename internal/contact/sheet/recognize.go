package sheet

import (
	"bytes"
	"fmt"
)

// otherFormats are formats that people mistake for CSV, by their first bytes. The first that fits counts.
var otherFormats = []struct {
	begin, has string // has is somewhere in the head of the file, "" for anything
	name       string
}{
	{"PK\x03\x04", "word/", "a Word document (.docx)"},
	{"PK\x03\x04", "application/vnd.oasis.opendocument.spreadsheet", "an OpenDocument spreadsheet (.ods)"},
	{"PK\x03\x04", "xl/", "an Excel workbook (.xlsx)"},
	{"PK\x03\x04", "[Content_Types].xml", "an Excel workbook (.xlsx)"},
	{"PK\x03\x04", "Index/", "a Numbers spreadsheet"},
	{"PK\x03\x04", "", "a ZIP archive"},
	{"PK\x05\x06", "", "a ZIP archive without files"},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "", "an Excel 97–2003 workbook (.xls)"},
	{"\x1f\x8b", "", "a gzip file"},
	{"%PDF-", "", "a PDF document"},
}

// byteOrderMarks are at the beginning of a text and show its encoding.
var byteOrderMarks = []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"}

const saveAsCSV = `save the sheet as "CSV UTF-8" in your spreadsheet program, then import that file`

// recognize returns an error if the file that begins with head is not a text. The error says what the file is, and what to do.
func recognize(head []byte) error {
	for _, format := range otherFormats {
		if bytes.HasPrefix(head, []byte(format.begin)) && bytes.Contains(head, []byte(format.has)) {
			switch format.begin {
			case "PK\x03\x04", "\x1f\x8b":
				if format.has == "" {
					return fmt.Errorf("it is %s, not a CSV file: unpack it, then import the CSV file in it", format.name)
				}
			}
			return fmt.Errorf("it is %s, not a CSV file: %s", format.name, saveAsCSV)
		}
	}
	for _, mark := range byteOrderMarks {
		if bytes.HasPrefix(head, []byte(mark)) {
			return nil
		}
	}
	if bytes.IndexByte(head, 0) < 0 {
		return nil
	}
	if isUTF16(head) {
		return fmt.Errorf("it is UTF-16 without a byte order mark: %s", saveAsCSV)
	}
	return fmt.Errorf("it is not a text file: %s", saveAsCSV)
}

// isUTF16 reports whether the bytes at the even or at the odd places are zero as often as in the UTF-16 of a Latin text.
func isUTF16(head []byte) bool {
	zeros := [2]int{}
	for i, b := range head {
		if b == 0 {
			zeros[i%2]++
		}
	}
	few, many := min(zeros[0], zeros[1]), max(zeros[0], zeros[1])
	return many > len(head)/4 && few < many/8
}
