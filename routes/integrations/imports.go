package integrations

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/audit"
	"contactbase/internal/body"
	"contactbase/internal/charset"
	"contactbase/internal/contact"
	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/list"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
	"contactbase/internal/tempfile"
	"contactbase/internal/tenant"
	"contactbase/internal/xlsx"
	"contactbase/routes/envelope"
)

const (
	// maxSheet is the largest uploaded file, in bytes.
	maxSheet = 64 << 20

	csvType      = "text/csv; charset=utf-8"
	workbookType = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	vCardType    = "text/vcard; charset=utf-8"
)

// storeImport stores the uploaded file.
func (s *server) storeImport(e *core.RequestEvent) error {
	values := e.Request.URL.Query()
	source, err := sourceOf(values)
	if err = cmp.Or(err, envelope.CheckEncoding(e)); err != nil {
		return err
	}
	tenantID := values.Get("tenant")
	if _, err := e.App.FindRecordById(tenant.CollectionName, tenantID); err != nil {
		return err
	}
	if err := imports.CheckQuota(e.App, tenantID); err != nil {
		return err
	}
	file, err := receiveSheet(e)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	ctx, stop := whileSignedIn(e)
	defer stop()
	stored, err := imports.Store(ctx, e.App, tenantID, source, file)
	if err != nil {
		return err
	}
	return envelope.WriteData(e, stored)
}

// sourceOf returns the part of the uploaded file that is imported.
func sourceOf(values url.Values) (imports.Source, error) {
	source := imports.Source{Name: values.Get("name"), Sheet: values.Get("sheet"), Encoding: values.Get("encoding")}
	if _, _, ok := charset.Named(source.Encoding); source.Encoding != "" && !ok {
		return source, fault.InvalidParameters(fault.Fields{"encoding": {
			Code: fault.CodeInvalidValue, Message: "must be the name of an encoding, such as windows-1250 or shift_jis",
		}})
	}
	text := values.Get("headings")
	if text == "" {
		return source, nil
	}
	var err error
	if source.Headings, err = strconv.Atoi(text); err != nil || source.Headings < 1 {
		return source, fault.InvalidParameters(fault.Fields{"headings": {
			Code: fault.CodeInvalidValue, Message: "must be the number of the row that has the names of the columns",
		}})
	}
	return source, nil
}

// receiveSheet returns the uploaded file once all of it has arrived, and it is its turn to be read. The
// caller closes it.
func receiveSheet(e *core.RequestEvent) (*tempfile.File, error) {
	folder := e.App.DataDir()
	file, err := tempfile.New(folder)
	if err != nil {
		return nil, err
	}
	err = body.Of(e.Request).Save(e.Request.Context(), file, folder, maxSheet)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err == nil {
		return file, nil
	}
	return nil, errors.Join(err, file.Close())
}

func (s *server) listImports(e *core.RequestEvent) error {
	found, err := imports.List(e.App, tenantOf(e))
	return envelope.WriteResult(e, found, err)
}

func (s *server) listImportFields(e *core.RequestEvent) error {
	targets, err := sheet.Targets(e.App)
	return envelope.WriteResult(e, targets, err)
}

func (s *server) readImport(e *core.RequestEvent) error {
	found, err := imports.Find(e.App, e.Request.PathValue("id"))
	return envelope.WriteResult(e, found, err)
}

func (s *server) checkImport(e *core.RequestEvent) error { return s.beginImport(e, imports.Check) }

func (s *server) startImport(e *core.RequestEvent) error { return s.beginImport(e, imports.Start) }

func (s *server) beginImport(
	e *core.RequestEvent, begin func(app core.App, id string, choices sheet.Choices) error,
) error {
	var choices sheet.Choices
	if err := readAdmin(e, &choices); err != nil {
		return err
	}
	if err := begin(e.App, e.Request.PathValue("id"), choices); err != nil {
		return err
	}
	s.Imports.Wake()
	return s.readImport(e)
}

func (s *server) cancelImport(e *core.RequestEvent) error {
	if err := imports.Cancel(e.Request.Context(), e.App, e.Request.PathValue("id")); err != nil {
		return err
	}
	return s.readImport(e)
}

// readRefused answers with the rejected rows, as a file of the format that was imported.
func (s *server) readRefused(e *core.RequestEvent) error {
	found, err := imports.Find(e.App, e.Request.PathValue("id"))
	if err != nil {
		return err
	}
	return writeSheet(e, "refused", found.Format, func(to io.Writer) error {
		return imports.WriteRefused(e.App, found.ID, found.Format, to)
	})
}

// undoTimeout is how long the answer to an undo waits for its end.
const undoTimeout = 10 * time.Second

// undoImport deletes what an import has created. It answers 202 while the undo continues.
func (s *server) undoImport(e *core.RequestEvent) error {
	var input struct {
		DryRun bool `json:"dryRun"`
	}
	if err := readAdmin(e, &input); err != nil {
		return err
	}
	id := e.Request.PathValue("id")
	if input.DryRun {
		undo, err := imports.PreviewUndo(e.Request.Context(), e.App, id)
		return envelope.WriteResult(e, undo, err)
	}
	if err := imports.BeginUndo(e.App, id); err != nil {
		return err
	}
	s.Imports.Wake()
	ctx, cancel := context.WithTimeout(e.Request.Context(), undoTimeout)
	defer cancel()
	undo, done, err := imports.AwaitUndo(ctx, e.App, id)
	if err != nil || done {
		return envelope.WriteResult(e, undo, err)
	}
	return e.JSON(http.StatusAccepted, map[string]any{"data": undo})
}

// readProblems answers with the rows that are refused or have warnings, and the reasons, as CSV.
func (s *server) readProblems(e *core.RequestEvent) error {
	kind := e.Request.URL.Query().Get("kind")
	if !slices.Contains(imports.Problems, kind) {
		return envelope.InvalidParameter("kind", "must be refused or warnings")
	}
	found, err := imports.Find(e.App, e.Request.PathValue("id"))
	if err != nil {
		return err
	}
	return writeSheet(e, kind, sheet.CSV, func(to io.Writer) error {
		return imports.WriteProblems(e.Request.Context(), e.App, found.ID, kind, to)
	})
}

// exportContacts answers with the contacts that the filters select, as a file.
func (s *server) exportContacts(e *core.RequestEvent) error {
	values := e.Request.URL.Query()
	owner, err := e.App.FindRecordById(tenant.CollectionName, values.Get("tenant"))
	if err != nil {
		return err
	}
	format, ok := sheet.Formats[cmp.Or(values.Get("format"), "csv")]
	if !ok {
		return fault.InvalidParameters(fault.Fields{
			"format": {Code: fault.CodeInvalidValue, Message: "must be csv, xlsx or vcf"},
		})
	}
	if format, ok = format.For(values.Get("for")); !ok {
		return fault.InvalidParameters(fault.Fields{
			"for": {Code: fault.CodeInvalidValue, Message: "must be spreadsheet or data"},
		})
	}
	for _, name := range []string{"tenant", "format", "for"} {
		values.Del(name)
	}
	query, err := list.ParsePage(e.App, values)
	if err != nil {
		return err
	}
	query.Turn = s.turns(e)
	if err := audit.Write(e.App, audit.Entry{
		Tenant: owner.Id, Action: audit.Exported, Collection: contact.CollectionName,
	}); err != nil {
		return err
	}
	return writeSheet(e, "contacts-"+time.Now().UTC().Format(time.DateOnly), format, func(to io.Writer) error {
		_, err := sheet.Export(e.Request.Context(), e.App, s.Lists, owner.Id, query, format, to)
		return err
	})
}

// writeSheet answers with a file. A workbook is written to a temporary file first, so that contacts that do not fit
// in one get an error.
func writeSheet(e *core.RequestEvent, name string, format sheet.Format, write func(to io.Writer) error) error {
	contentType := csvType
	switch format {
	case sheet.VCard:
		contentType = vCardType
	case sheet.Workbook:
		file, err := tempfile.New(e.App.DataDir())
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		err = write(file)
		if errors.Is(err, xlsx.ErrFull) {
			return fault.InvalidParameters(fault.Fields{
				"format": {Code: fault.CodeInvalidValue, Message: "must be csv: " + err.Error()},
			})
		}
		if err != nil {
			return err
		}
		contentType = workbookType
		write = func(to io.Writer) error {
			_, err := io.Copy(to, io.NewSectionReader(file, 0, math.MaxInt64))
			return err
		}
	}
	header := e.Response.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Disposition", `attachment; filename="`+name+format.Extension()+`"`)
	return sendSheet(e, name, write)
}

// sendSheet writes the body of the response. If writing fails midway, it closes the connection, so that nobody takes
// a part for the whole.
func sendSheet(e *core.RequestEvent, name string, write func(to io.Writer) error) error {
	out := bufio.NewWriterSize(e.Response, 32<<10)
	if err := errors.Join(write(out), out.Flush()); err != nil {
		if e.Request.Context().Err() == nil {
			e.App.Logger().Error("writing a contact export", "name", name, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
	return nil
}
