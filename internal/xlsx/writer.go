package xlsx

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
)

// maxCharacters is how many characters a cell can have in Excel, in UTF-16.
const maxCharacters = 32_767

// ErrFull means that rows do not fit in a workbook.
var ErrFull = errors.New("export CSV instead")

const (
	header    = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	mainSpace = `xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"`
	relations = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
	packages  = "http://schemas.openxmlformats.org/package/2006/"
	types     = "application/vnd.openxmlformats-officedocument.spreadsheetml."
)

// fixedParts are all parts before the sheet. Style 1 is text, so that a program does not take what a person types
// into a cell for a number or a formula.
var fixedParts = []struct{ name, content string }{
	{"[Content_Types].xml", `<Types xmlns="` + packages + `content-types">` +
		`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
		`<Override PartName="/xl/workbook.xml" ContentType="` + types + `sheet.main+xml"/>` +
		`<Override PartName="/xl/styles.xml" ContentType="` + types + `styles+xml"/>` +
		`<Override PartName="/xl/worksheets/sheet1.xml" ContentType="` + types + `worksheet+xml"/></Types>`},
	{"_rels/.rels", `<Relationships xmlns="` + packages + `relationships"><Relationship Id="rId1" Type="` +
		relations + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
	{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="` + packages + `relationships">` +
		`<Relationship Id="rId1" Type="` + relations + `/worksheet" Target="worksheets/sheet1.xml"/>` +
		`<Relationship Id="rId2" Type="` + relations + `/styles" Target="styles.xml"/></Relationships>`},
	{"xl/workbook.xml", `<workbook ` + mainSpace + ` xmlns:r="` + relations +
		`"><sheets><sheet name="Contacts" sheetId="1" r:id="rId1"/></sheets></workbook>`},
	{"xl/styles.xml", `<styleSheet ` + mainSpace +
		`><fonts count="1"><font><sz val="11"/><name val="Calibri"/></font></fonts>` +
		`<fills count="2"><fill><patternFill patternType="none"/></fill>` +
		`<fill><patternFill patternType="gray125"/></fill></fills>` +
		`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
		`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
		`<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>` +
		`<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs></styleSheet>`},
}

const (
	sheetName  = "xl/worksheets/sheet1.xml"
	sheetBegin = `<worksheet ` + mainSpace + `><sheetViews><sheetView workbookViewId="0">` +
		`<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>` +
		`</sheetView></sheetViews><cols><col min="1" max="16384" width="20" style="1" customWidth="1"/></cols><sheetData>`
	sheetEnd = `</sheetData></worksheet>`
)

// Writer writes a workbook with one sheet, whose first row stays visible. All its cells are texts, none
// of them a formula.
type Writer struct {
	archive *zip.Writer
	sheet   *bufio.Writer
	row     int // that was written last
}

// NewWriter returns a writer of rows. Close completes the workbook.
func NewWriter(to io.Writer) (*Writer, error) {
	w := &Writer{archive: zip.NewWriter(to)}
	for _, part := range fixedParts {
		if err := w.begin(part.name, part.content); err != nil {
			return nil, err
		}
	}
	return w, w.begin(sheetName, sheetBegin)
}

// begin ends the last part, and begins the next.
func (w *Writer) begin(name, content string) error {
	if w.sheet != nil {
		if err := w.sheet.Flush(); err != nil {
			return err
		}
	}
	part, err := w.archive.Create(name)
	if err != nil {
		return err
	}
	w.sheet = bufio.NewWriter(part)
	_, err = w.sheet.WriteString(header + content)
	return err
}

// Write writes a row. The error is ErrFull if the sheet has too many rows, or a cell is too long.
func (w *Writer) Write(cells []string) error {
	if w.row++; w.row > maxRows {
		return fmt.Errorf("a workbook can have at most %d rows: %w", maxRows, ErrFull)
	}
	fmt.Fprintf(w.sheet, `<row r="%d">`, w.row)
	for column, cell := range cells {
		if cell == "" {
			continue
		}
		if len(cell) > maxCharacters && len(utf16.Encode([]rune(cell))) > maxCharacters {
			return fmt.Errorf("column %s: a cell of a workbook can have at most %d characters: %w",
				columnName(column), maxCharacters, ErrFull)
		}
		fmt.Fprintf(w.sheet, `<c r="%s%d" s="1" t="inlineStr"><is><t xml:space="preserve">`, columnName(column), w.row)
		if err := xml.EscapeText(w.sheet, []byte(escape(cell))); err != nil {
			return err
		}
		fmt.Fprint(w.sheet, `</t></is></c>`)
	}
	_, err := w.sheet.WriteString("</row>")
	return err
}

// Close completes the workbook. It does not close the writer below.
func (w *Writer) Close() error {
	_, err := w.sheet.WriteString(sheetEnd)
	return errors.Join(err, w.sheet.Flush(), w.archive.Close())
}
