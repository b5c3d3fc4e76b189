// Package xlsx reads and writes the sheets of Excel workbooks row by row (ECMA-376, Office Open XML). A workbook of
// any content, also a hostile one, takes little memory: a sheet is read as a stream, and what cells refer to is in
// a temporary file.
package xlsx

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"contactbase/internal/tempfile"
)

const (
	// MaxCells is the maximum number of cells of a row, up to the last one with a value.
	MaxCells = 1_000

	// ManyCells is the reason why a row with more cells cannot be read.
	ManyCells = "has more than 1,000 cells: delete the columns that you do not need"
)

const (
	maxFile      = 256 << 20 // bytes of a workbook
	maxPart      = 1 << 30   // bytes of its sheet or its shared texts, unpacked
	maxSmallPart = 16 << 20  // bytes of any other part, unpacked
	maxLinks     = 1 << 20   // bytes of a part that lists relations, unpacked
	maxDirectory = 1 << 20   // bytes of the list of its parts
	maxText      = 1 << 20   // bytes of a cell, or of all cells of a row
	maxShared    = 5_000_000 // shared texts
	maxRepeated  = 16 << 20  // bytes that cells may have beyond the shared texts, and so many for each byte of the sheet:
	maxRepeats   = 4
	maxRows      = 1 << 20 // that Excel reads
	maxColumns   = 1 << 14
	maxFormats   = 65_490 // formats of cells, and formats of numbers, that Excel reads
	maxNamed     = 50     // sheets that Reader names
	maxName      = 100    // characters of their names that it shows
)

// Reader reads the rows of a sheet.
type Reader struct {
	Sheets []string // the names of the first sheets of the workbook, quoted

	file     *tempfile.File
	shared   *shared
	formats  []format // by the style of a cell
	from1904 bool
	sheet    *parser
	row      int      // that was read last
	last     []string // its cells, whose memory the next row takes
	given    int64    // bytes of the cells that were read
}

// Open opens the sheet with this name, in any case, or the first visible one if the name is "". It copies the
// workbook to a temporary file in the folder, which Close deletes. The error is for the person who made the workbook,
// unless it is an *fs.PathError. Once ctx ends, the reader returns its error.
func Open(ctx context.Context, from io.Reader, folder, name string) (_ *Reader, err error) {
	file, err := tempfile.New(folder)
	if err != nil {
		return nil, err
	}
	r := &Reader{file: file}
	defer func() {
		if err != nil {
			_ = r.Close()
		}
	}()
	size, err := io.Copy(file, io.LimitReader(from, maxFile+1))
	if err != nil {
		return nil, err
	}
	if size > maxFile {
		return nil, fmt.Errorf("the workbook has more than %d MiB: split it, or save the sheet as CSV", maxFile>>20)
	}
	parts, err := openArchive(ctx, file, size)
	if err != nil {
		return nil, err
	}
	return r, r.open(parts, size, name)
}

// Close ends reading, and deletes the temporary file.
func (r *Reader) Close() error {
	if r.sheet != nil {
		_ = r.sheet.part.Close()
	}
	return r.file.Close()
}

func (r *Reader) open(parts archive, size int64, name string) error {
	book, err := parts.book()
	if err != nil {
		return err
	}
	related, err := parts.relations(book)
	if err != nil {
		return missing(err)
	}
	sheet, err := r.find(parts, book, related, name)
	if err != nil {
		return err
	}
	shared, styles := "", ""
	for _, part := range related {
		switch part.kind {
		case "sharedStrings":
			shared = part.target
		case "styles":
			styles = part.target
		}
	}
	if r.formats, err = readFormats(parts, styles); err != nil {
		return err
	}
	if r.shared, err = readShared(parts, shared, r.file, size); err != nil {
		return err
	}
	r.sheet, err = parts.parser(sheet, maxPart)
	return missing(err)
}

// book returns the name of the part that lists the sheets.
func (a archive) book() (string, error) {
	related, err := a.relations("")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, part := range related {
		switch {
		case part.kind != "officeDocument":
		case strings.HasSuffix(part.target, ".bin"):
			return "", errors.New(`it is a binary workbook (.xlsb): save it as "Excel Workbook (.xlsx)", then import that file`)
		default:
			return part.target, nil
		}
	}
	return "", errors.New("it is a ZIP archive, not a workbook: unpack it, then import the file in it")
}

// missing returns the error of a part that a workbook must have.
func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return damaged(errors.New("a part is missing"))
	}
	return err
}

// find returns the part of the sheet with this name, or of the first visible one. It also reads from which day
// the workbook counts.
func (r *Reader) find(parts archive, book string, related []relation, name string) (sheet string, err error) {
	worksheets := map[string]string{} // without charts
	for _, part := range related {
		if part.kind == "worksheet" {
			worksheets[part.id] = part.target
		}
	}
	first, isFirstVisible := "", false
	err = parts.each(book, maxSmallPart, func(element xml.StartElement) error {
		switch element.Name.Local {
		case "workbookPr":
			r.from1904, _ = strconv.ParseBool(attribute(element, "date1904"))
		case "sheet":
			target, ok := worksheets[attribute(element, "id")]
			if !ok {
				return nil
			}
			called, state := attribute(element, "name"), attribute(element, "state")
			r.Sheets = append(r.Sheets[:min(len(r.Sheets), maxNamed)], fmt.Sprintf("%.*q", maxName, called))
			if sheet == "" && strings.EqualFold(called, name) {
				sheet = target
			}
			isVisible := state == "" || state == "visible"
			if first == "" || isVisible && !isFirstVisible {
				first, isFirstVisible = target, isVisible
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return "", missing(err)
	case first == "":
		return "", errors.New("it has no sheet with rows")
	case name == "":
		return first, nil
	case sheet == "":
		return "", fmt.Errorf("it has no sheet named %q; choose one of %s", name, strings.Join(r.Sheets, ", "))
	}
	return sheet, nil
}

// readFormats returns the formats of cells by their style, none if the workbook has no styles.
func readFormats(parts archive, styles string) (formats []format, err error) {
	known, isCell := map[string]format{}, false // by the id of the format of numbers
	err = parts.each(styles, maxSmallPart, func(element xml.StartElement) error {
		if len(known) > maxFormats || len(formats) > maxFormats {
			return errFormats
		}
		switch element.Name.Local {
		case "numFmt":
			known[attribute(element, "numFmtId")] = parseFormat(attribute(element, "formatCode"))
		case "cellXfs":
			isCell = true
		case "cellStyles", "dxfs":
			isCell = false
		case "xf":
			if !isCell {
				return nil
			}
			id := attribute(element, "numFmtId")
			shown, ok := known[id]
			if !ok {
				number, _ := strconv.Atoi(id) // 0, which shows numbers as they are, if it is invalid
				shown = parseFormat(builtIn(number))
				known[id] = shown
			}
			formats = append(formats, shown)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return formats, err
}
