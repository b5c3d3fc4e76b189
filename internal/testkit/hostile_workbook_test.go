package testkit_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"
)

const relation = `<Relationship Id="%s" Target="/%s" ` +
	`Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s"/>`

// workbook has the content of the parts of a workbook.
type workbook struct{ rows, shared, styles, sheets, relations string }

// file returns the workbook as a file.
func (w workbook) file() []byte {
	var file bytes.Buffer
	archive := zip.NewWriter(&file)
	for _, part := range []struct{ name, text string }{
		{"_rels/.rels", "<Relationships>" + fmt.Sprintf(relation, "a", "xl/book.xml", "officeDocument") + "</Relationships>"},
		{"xl/_rels/book.xml.rels", "<Relationships>" + fmt.Sprintf(relation, "a", "xl/sheet.xml", "worksheet") +
			fmt.Sprintf(relation, "b", "xl/shared.xml", "sharedStrings") +
			fmt.Sprintf(relation, "c", "xl/styles.xml", "styles") +
			w.relations + "</Relationships>"},
		{"xl/book.xml", `<workbook><sheets><sheet name="One" r:id="a"/>` + w.sheets + `</sheets></workbook>`},
		{"xl/shared.xml", "<sst>" + w.shared + "</sst>"},
		{"xl/styles.xml", "<styleSheet>" + w.styles + "</styleSheet>"},
		{"xl/sheet.xml", `<worksheet><sheetData><row><c t="inlineStr"><is><t>name</t></is></c></row>` + w.rows + `</sheetData></worksheet>`},
	} {
		content, err := archive.Create(part.name)
		if err == nil {
			_, err = content.Write([]byte(part.text))
		}
		if err != nil {
			panic(err)
		}
	}
	if err := archive.Close(); err != nil {
		panic(err)
	}
	return file.Bytes()
}

// rows returns a generator of workbooks with n rows.
func rows(row string) generator {
	return func(n int) []byte { return workbook{rows: strings.Repeat(row, n)}.file() }
}

// parts returns a generator of workbooks of n parts.
func parts(of func(n int) workbook) generator {
	return func(n int) []byte { return of(n).file() }
}

// numbers returns a generator of workbooks with n cells that have a number in a format with this code.
func numbers(code, value string) generator {
	return func(n int) []byte {
		return workbook{
			styles: `<numFmts><numFmt numFmtId="200" formatCode="` + code +
				`"/></numFmts><cellXfs><xf numFmtId="200"/></cellXfs>`,
			rows: strings.Repeat(`<row><c s="0"><v>`+value+`</v></c></row>`, n),
		}.file()
	}
}

// Reading a workbook is linear, also one whose rows name the same text.
func TestHostileWorkbooks(t *testing.T) {
	const named = `<row><c t="s"><v>0</v></c></row>`
	text := func(length int) string { return "<si><t>" + strings.Repeat("x", length) + "</t></si>" }
	linear(t, map[string]generator{
		"rows":       rows("<row><c><v>1</v></c></row>"),
		"blank rows": rows("<row/>"),
		"cells of a row": parts(func(n int) workbook {
			return workbook{rows: "<row>" + strings.Repeat("<c><v>1</v></c>", n) + "</row>"}
		}),
		"one cell again and again": parts(func(n int) workbook {
			return workbook{rows: "<row>" + strings.Repeat(`<c r="A2"><v>1</v></c>`, n) + "</row>"}
		}),
		"far cells":               rows(`<row><c r="XFD1"><v>1</v></c></row>`),
		"far cells that are read": rows(`<row><c r="ALL1"><v>1</v></c></row>`),
		"blank cells":             rows("<row>" + strings.Repeat(`<c s="0"/>`, 100) + "</row>"),
		"one text in all rows": parts(func(n int) workbook {
			return workbook{rows: strings.Repeat(named, n), shared: text(32 * n)}
		}),
		"the longest text in all rows": parts(func(n int) workbook {
			return workbook{rows: strings.Repeat(named, n), shared: text(min(32*n, 1<<20-100))}
		}),
		"long texts by turns": parts(func(n int) workbook {
			return workbook{
				rows:   strings.Repeat(`<row><c t="s"><v>0</v></c></row><row><c t="s"><v>1</v></c></row>`, n),
				shared: text(16*n) + text(16*n),
			}
		}),
		"one text in all cells": parts(func(n int) workbook {
			return workbook{rows: "<row>" + strings.Repeat(`<c t="s"><v>0</v></c>`, n) + "</row>", shared: text(20 * n)}
		}),
		"one text of spaces": parts(func(n int) workbook {
			return workbook{rows: strings.Repeat(named, n), shared: `<si><t xml:space="preserve">` + strings.Repeat(" ", 32*n) +
				"</t></si>"}
		}),
		"one short text": parts(func(n int) workbook {
			return workbook{rows: strings.Repeat(named, n), shared: text(5)}
		}),
		"shared texts": parts(func(n int) workbook {
			return workbook{shared: strings.Repeat("<si><t>a</t></si>", n)}
		}),
		"blank texts": parts(func(n int) workbook { return workbook{shared: strings.Repeat("<si/>", n)} }),
		"runs of a text": parts(func(n int) workbook {
			return workbook{shared: "<si>" + strings.Repeat("<r><t>a</t></r>", n) + "</si>"}
		}),
		"escaped letters": parts(func(n int) workbook {
			return workbook{shared: strings.Repeat("<si><t>_x0041__x</t></si>", n)}
		}),
		"inline texts": rows(`<row><c t="inlineStr"><is><r><t>_x</t></r><rPh><t>a</t></rPh></is></c></row>`),
		"entities": parts(func(n int) workbook {
			return workbook{shared: "<si><t>" + strings.Repeat("&amp;", n) + "</t></si>"}
		}),
		"attributes": parts(func(n int) workbook {
			return workbook{rows: "<row" + strings.Repeat(` a="b"`, n) + "/>"}
		}),
		"rows with attributes": rows("<row" + strings.Repeat(` a="b"`, 1000) + `><c` + strings.Repeat(` a="b"`, 1000) +
			"/></row>"),
		"comments": rows("<!-- a --><?b c?>"),
		"nesting":  rows("<a>"),
		"digits": parts(func(n int) workbook {
			return workbook{rows: "<row><c><v>" + strings.Repeat("1", n) + "</v></c></row>"}
		}),
		"formats of numbers": parts(func(n int) workbook {
			return workbook{styles: string(number("<numFmts>", `<numFmt numFmtId="%d" formatCode="[h]0.0&quot;x&quot;"/>`,
				"</numFmts>")(n))}
		}),
		"long formats of numbers": parts(func(n int) workbook {
			return workbook{styles: string(number("", `<numFmt numFmtId="%d" formatCode="`+strings.Repeat("0x", 127)+`"/>`,
				"")(n))}
		}),
		"formats of cells": parts(func(n int) workbook {
			return workbook{styles: "<cellXfs>" + strings.Repeat(`<xf numFmtId="14"/>`, n)}
		}),
		"long codes": parts(func(n int) workbook {
			return workbook{styles: `<numFmt numFmtId="200" formatCode="` + strings.Repeat("0", n) + `"/>`}
		}),
		"names of sheets": parts(func(n int) workbook {
			return workbook{sheets: string(number("", `<sheet name="%d" r:id="a"/>`, "")(n))}
		}),
		"a name of a sheet": parts(func(n int) workbook {
			return workbook{sheets: `<sheet name="` + strings.Repeat("a", n) + `" r:id="a"/>`}
		}),
		"relations": parts(func(n int) workbook {
			return workbook{relations: string(number("", `<Relationship Id="%d" Target="a"/>`, "")(n))}
		}),
		"long numbers":  numbers(strings.Repeat("0x", 127), "1e300"),
		"small numbers": numbers("0."+strings.Repeat("0", 30)+"%", "1e-300"),
		"times":         numbers("[h]:mm:ss", "12345.678"),
		"dates":         numbers("yyyy-mm-dd hh:mm:ss", "12345.678"),
	}, readSheet)
}
