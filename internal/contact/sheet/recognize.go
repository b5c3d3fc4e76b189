package sheet

import (
	"bytes"
	"fmt"

	"contactbase/internal/charset"
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
	{"dn:", "", "an address book in LDIF", exportIt},
	{"version: 1", "\ndn:", "an address book in LDIF", exportIt},
	{"BEGIN:VCALENDAR", "", "a calendar", exportIt},
	{"[", "{", "JSON", sendIt},
	{"{", `"`, "JSON", sendIt},
}

const sendIt = "send it to the API or to an inbound webhook, or convert it to CSV"

const exportIt = "export the contacts as vCards (.vcf) or CSV"

const saveAs = `save the sheet without a password as "Excel Workbook (.xlsx)" or "CSV UTF-8" ` +
	`in your spreadsheet program, then import that file`

// recognize returns an error if the file that begins with head cannot be CSV, a workbook or vCards. The error says
// what the file is, and what to do.
func recognize(head []byte) error {
	text := bytes.TrimSpace(bytes.TrimPrefix(head, []byte(mark)))
	for _, format := range otherFormats {
		if !bytes.HasPrefix(text, []byte(format.begin)) || !bytes.Contains(head, []byte(format.has)) {
			continue
		}
		return fmt.Errorf("it is %s: %s", format.name, format.advice)
	}
	isText := bytes.IndexByte(head, 0) < 0 || markedEncoding(head) != "" || charset.UTF16(head) != ""
	if isText || bytes.HasPrefix(head, []byte(archive)) {
		return nil
	}
	return fmt.Errorf("it is not a text file: %s", saveAs)
}
