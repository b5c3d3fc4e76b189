package field_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/pocketbase/pocketbase/core"
	"github.com/xuri/excelize/v2"
	"golang.org/x/text/encoding/htmlindex"

	"contactbase/internal/contact/imports"
)

const adminPath = "/api/integrations"

type fileInput struct {
	File     file              `json:"file"`
	Sheet    string            `json:"sheet"`
	Headings int               `json:"headings"`
	Encoding string            `json:"encoding"`
	Country  string            `json:"country"`
	Columns  map[string]string `json:"columns"`
	Match    string            `json:"match"`
	Existing string            `json:"existing"`
	New      string            `json:"new"`
	Strict   bool              `json:"strict"`
	DryRun   bool              `json:"dryRun"`
}

type file struct {
	Name     string   `json:"name"`
	Lines    []string `json:"lines"`
	Encoding string   `json:"encoding"`
	Mark     bool     `json:"bom"`
	Newline  *string  `json:"newline"`
	Base64   []byte   `json:"base64"`
	Sheets   []struct {
		Name string  `json:"name"`
		Rows [][]any `json:"rows"`
	} `json:"sheets"`
}

type exportInput struct {
	Format   string `json:"format"`
	For      string `json:"for"`
	Filter   string `json:"filter"`
	Reimport bool   `json:"reimport"`
}

// content returns the bytes of a file.
func (f *file) content() ([]byte, error) {
	switch {
	case f.Sheets != nil:
		return f.workbook()
	case f.Base64 != nil:
		return f.Base64, nil
	}
	newline := "\r\n"
	if f.Newline != nil {
		newline = *f.Newline
	}
	text := strings.Join(f.Lines, newline) + newline
	if f.Mark {
		text = "\ufeff" + text
	}
	encoding, err := htmlindex.Get(cmp.Or(f.Encoding, "utf-8"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Encoding, err)
	}
	return encoding.NewEncoder().Bytes([]byte(text))
}

func (f *file) workbook() ([]byte, error) {
	book := excelize.NewFile()
	defer book.Close()
	for i, sheet := range f.Sheets {
		var err error
		if i == 0 {
			err = book.SetSheetName("Sheet1", sheet.Name)
		} else {
			_, err = book.NewSheet(sheet.Name)
		}
		if err != nil {
			return nil, err
		}
		for y, row := range sheet.Rows {
			for x, value := range row {
				name, err := excelize.CoordinatesToCellName(x+1, y+1)
				if err := errors.Join(err, setCell(book, sheet.Name, name, value)); err != nil {
					return nil, err
				}
			}
		}
	}
	var out bytes.Buffer
	err := book.Write(&out)
	return out.Bytes(), err
}

func setCell(book *excelize.File, sheet, cell string, value any) error {
	object, ok := value.(map[string]any)
	if !ok {
		return book.SetCellValue(sheet, cell, value)
	}
	err := book.SetCellValue(sheet, cell, object["value"])
	if formula, ok := object["formula"].(string); ok {
		err = errors.Join(err, book.SetCellFormula(sheet, cell, formula))
	}
	if format, ok := object["format"].(string); ok {
		style, styleErr := book.NewStyle(&excelize.Style{CustomNumFmt: &format})
		err = errors.Join(err, styleErr, book.SetCellStyle(sheet, cell, cell, style))
	}
	return err
}

// importFile imports a file as the page does: upload, dry run, start.
func (c *client) importFile(ctx context.Context, app core.App, tenant string, in *fileInput, r *result) ([]string, error) {
	content, err := in.File.content()
	if err != nil {
		return nil, err
	}
	stored, failed, err := c.upload(ctx, tenant, in, content)
	if r.failed = failed; err != nil || failed != nil {
		return nil, err
	}
	choices, err := in.choices(stored)
	if err != nil {
		return nil, err
	}
	path := adminPath + "/imports/" + stored["id"].(string)
	var counts []string
	for _, action := range []string{"check", "start"} {
		if in.DryRun && action == "start" {
			continue
		}
		if _, got, err := c.call(ctx, "superuser", "POST", path+"/"+action, choices); err != nil || got.status >= 400 {
			r.failed = got
			return nil, err
		}
		if err := imports.WorkOn(ctx, app, stored["id"].(string)); err != nil {
			return nil, err
		}
		done, _, err := c.call(ctx, "superuser", "GET", path, nil)
		if err != nil {
			return nil, err
		}
		r.addImport(done["data"])
		counts = append(counts, compact(r.counts))
	}
	if len(slices.Compact(counts)) > 1 {
		return []string{"the dry run counts " + strings.Join(counts, ", and the import ")}, nil
	}
	return nil, nil
}

func (c *client) upload(ctx context.Context, tenant string, in *fileInput, content []byte) (map[string]any, *response, error) {
	query := url.Values{"tenant": {tenant}, "name": {in.File.Name}}
	for name, value := range map[string]string{"sheet": in.Sheet, "encoding": in.Encoding, "country": in.Country} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if in.Headings != 0 {
		query.Set("headings", strconv.Itoa(in.Headings))
	}
	got, err := c.send(ctx, "superuser", "POST", adminPath+"/imports?"+query.Encode(), "text/csv", content)
	if err != nil || got.status >= 400 {
		return nil, got, err
	}
	object, _ := decode(got.body).(map[string]any)
	stored, _ := object["data"].(map[string]any)
	return stored, nil, nil
}

// choices are those of the page, which begin with what the upload has recognized.
func (in *fileInput) choices(stored map[string]any) (map[string]any, error) {
	mapping, _ := stored["mapping"].([]any)
	columns, _ := stored["columns"].([]any)
	for column, field := range in.Columns {
		i := slices.Index(columns, any(column))
		if i < 0 {
			return nil, fmt.Errorf("the file has no column %q but %q", column, columns)
		}
		mapping[i] = field
	}
	choices := map[string]any{"mapping": mapping, "match": stored["match"], "existing": in.Existing, "new": in.New, "country": in.Country, "strict": in.Strict}
	if in.Match != "" {
		choices["match"] = in.Match
	}
	return choices, nil
}

// addImport adds what an import says about itself.
func (r *result) addImport(data any) {
	object, _ := data.(map[string]any)
	r.counts, r.warnings, r.others = object["counts"], nil, nil
	list := func(name string, add func(item map[string]any)) {
		items, _ := object[name].([]any)
		for _, item := range items {
			item, _ := item.(map[string]any)
			add(item)
		}
	}
	list("remarks", func(item map[string]any) { r.others = append(r.others, fmt.Sprint(item["text"])) })
	list("notes", func(item map[string]any) { r.others = append(r.others, fmt.Sprint(item["text"])) })
	list("refusals", func(item map[string]any) { r.others = append(r.others, compact(item)) })
	if counts, _ := r.counts.(map[string]any); counts["warnings"] != 0.0 || counts["refused"] != 0.0 {
		r.warnings, r.others = r.others, nil
	}
}

// exportFile exports the contacts of a tenant, and imports them into another one if the shape asks for it.
func (c *client) exportFile(ctx context.Context, app core.App, tenant, other string, in *exportInput, r *result) ([]string, error) {
	query := "tenant=" + tenant
	for name, value := range map[string]string{"format": in.Format, "for": in.For} {
		if value != "" {
			query += "&" + name + "=" + value
		}
	}
	if in.Filter != "" {
		query += "&" + in.Filter
	}
	got, err := c.send(ctx, "superuser", "GET", adminPath+"/contacts/export?"+query, "", nil)
	if err != nil {
		return nil, err
	}
	if got.status >= 400 {
		r.failed = got
		return nil, nil
	}
	if r.body = got.body; in.Format == "xlsx" {
		if r.body, err = readWorkbook(got.body); err != nil {
			return nil, err
		}
	}
	if !in.Reimport {
		return nil, nil
	}
	name := "contacts." + cmp.Or(in.Format, "csv")
	return c.importFile(ctx, app, other, &fileInput{File: file{Name: name, Base64: []byte(got.body)}}, r)
}

// readWorkbook returns the cells of a workbook's first sheet as tab-separated lines.
func readWorkbook(text string) (string, error) {
	book, err := excelize.OpenReader(strings.NewReader(text))
	if err != nil {
		return "", err
	}
	defer book.Close()
	rows, err := book.GetRows(book.GetSheetName(0))
	var out strings.Builder
	for _, row := range rows {
		out.WriteString(strings.Join(row, "\t") + "\n")
	}
	return out.String(), err
}
