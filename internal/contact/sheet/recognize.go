package sheet

import (
	"bytes"
	"fmt"
)

const (
	archive  = "PK\x03\x04"                       // ZIP, which a workbook (.xlsx) is
	compound = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" // OLE, in which old and encrypted workbooks are
)

// otherFormats are formats that people mistake for CSV or a workbook, by their first bytes. The first that fits counts.
var otherFormats = []struct {
	begin, has   string // has is somewhere in the head of the file, "" for anything
	name, advice string
}{
	{archive, "word/", "a Word document (.docx)", saveAs},
	{archive, "application/vnd.oasis.opendocument.spreadsheet", "an OpenDocument spreadsheet (.ods)", saveAs},
	{archive, "Index/", "a Numbers spreadsheet", saveAs},
	{"PK\x05\x06", "", "a ZIP archive without files", saveAs},
	{compound, "E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00a\x00c\x00k\x00a\x00g\x00e\x00",
		"a workbook with a password", saveAs},
	{compound, "", "an Excel 97–2003 workbook (.xls), or a workbook with a password", saveAs},
	{"\x1f\x8b", "", "a gzip file", "unpack it, then import the file in it"},
	{"%PDF-", "", "a PDF document", saveAs},
	{"--", "Content-Disposition: form-data", "a form (multipart/form-data)",
		"send the file itself as the body, for example with curl --data-binary @contacts.csv"},
	{"<?xml", "Workbook", "an XML spreadsheet", saveAs},
	{"<?xml", "", "XML", saveAs},
	{"<", ">", "HTML", saveAs},
	{"[", "{", "JSON", sendIt},
	{"{", `"`, "JSON", sendIt},
}

// byteOrderMarks are at the beginning of a text and show its encoding.
var byteOrderMarks = []string{"\xef\xbb\xbf", "\xff\xfe", "\xfe\xff"}

const sendIt = "send it to the API or to an inbound webhook, or convert it to CSV"

const saveAs = `save the sheet without a password as "Excel Workbook (.xlsx)" or "CSV UTF-8" ` +
	`in your spreadsheet program, then import that file`

// recognize returns an error if the file that begins with head cannot be CSV, a workbook or vCards. The error says
// what the file is, and what to do.
func recognize(head []byte) error {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte(utf8Mark)))
	for _, format := range otherFormats {
		if !bytes.HasPrefix(text, []byte(format.begin)) || !bytes.Contains(head, []byte(format.has)) {
			continue
		}
		return fmt.Errorf("it is %s: %s", format.name, format.advice)
	}
	if bytes.HasPrefix(head, []byte(archive)) {
		return nil
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
		return fmt.Errorf("it is UTF-16 without a byte order mark: %s", saveAs)
	}
	return fmt.Errorf("it is not a text file: %s", saveAs)
}

// isUTF16 reports whether the bytes at the even or at the odd places are zero as often as in the
// UTF-16 of a Latin text.
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
