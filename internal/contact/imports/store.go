package imports

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/contact/custom"
	"contactbase/internal/contact/sheet"
	"contactbase/internal/fault"
	"contactbase/internal/recordid"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
	"contactbase/internal/wire"
)

const (
	// maxRows is the maximum number of rows of a sheet.
	maxRows = 1_000_000

	// maxName is the maximum length of the name of a file that is stored, in bytes.
	maxName = 200

	// A page is stored when it has pageRows rows or pageBytes bytes.
	pageRows  = 200
	pageBytes = 128 << 10

	// maxSample is the maximum length of a cell in a sample, in characters.
	maxSample = 200

	// sampled is how many rows are shown as samples.
	sampled = 3
)

// Source is the part of a file that is imported.
type Source struct {
	Name     string // of the file
	Sheet    string // of a workbook, "" for the first one
	Headings int    // the number of the row that has the columns' names, 0 to look for it
	Encoding string // of a text, "" to find it out
	Country  string // where the file comes from, "" for the country of the tenant
}

// Store reads a file and stores its rows as an import of the tenant, which Check or Start begins. The error is a
// *fault.Error if the file cannot be read or the tenant's imports exceed Quota, sql.ErrNoRows if there is no such
// tenant, and the cause of ctx once that ends.
func Store(ctx context.Context, app core.App, tenantID string, source Source, from io.Reader) (*Import, error) {
	if _, err := app.FindRecordById(tenant.CollectionName, tenantID); err != nil {
		return nil, err
	}
	source, err := source.Of(app, tenantID)
	if err != nil {
		return nil, err
	}
	file, err := Open(ctx, app, source, nil, from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return file.store(ctx, app, tenantID, Quota)
}

// Of returns the source with the country of the tenant, unless it has one.
func (s Source) Of(app core.App, tenantID string) (Source, error) {
	if s.Country != "" {
		return s, nil
	}
	var err error
	s.Country, err = tenant.CountryOf(app, tenantID)
	return s, err
}

// File is an open file whose headings have been read.
type File struct {
	*sheet.Reader
	*sheet.Suggestion
	name string
}

// Open reads the headings of a file. Those in known count as known. The error is a *fault.Error if the file cannot be
// read. The caller closes the file.
func Open(ctx context.Context, app core.App, source Source, known []string, from io.Reader) (*File, error) {
	isKnown, err := sheet.Known(app, known)
	if err != nil {
		return nil, err
	}
	custom, err := contact.CustomFields(app)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, field := range custom {
		names = append(names, field.GetName())
	}
	reader, err := sheet.NewReader(ctx, from, app.DataDir(),
		sheet.Choice{Sheet: source.Sheet, Headings: source.Headings, Known: isKnown,
			Encoding: source.Encoding, Country: contact.CountryCode(source.Country), Custom: names})
	if err != nil {
		return nil, unreadable(ctx, err)
	}
	sample, err := reader.Sample()
	if err != nil {
		return nil, errors.Join(unreadable(ctx, err), reader.Close())
	}
	suggestion, err := sheet.Suggest(app, reader.Columns, sample)
	if err != nil {
		return nil, errors.Join(err, reader.Close())
	}
	suggestion.Warnings = append(reader.FileWarnings, suggestion.Warnings...)
	return &File{reader, suggestion, source.Name}, nil
}

// Store is Store for a file that Open has opened, without a quota.
func (f *File) Store(ctx context.Context, app core.App, tenantID string) (*Import, error) {
	return f.store(ctx, app, tenantID, math.MaxInt64)
}

func (f *File) store(ctx context.Context, app core.App, tenantID string, quota int64) (*Import, error) {
	s := &storage{
		ctx: ctx, app: app, File: f, quota: quota, id: recordid.New(time.Now()),
		tenant: tenantID, page: page{read: map[int]remark{}}, styles: make([]custom.Style, len(f.Columns)),
	}
	if err := s.begin(); err != nil {
		return nil, fmt.Errorf("storing an import: %w", err)
	}
	if err := s.rows(); err != nil {
		// without the rows at once: a file that ends badly would not count for the quota, and its rows would
		// stay until retention
		_, failed := sqlite.Exec(app, "DELETE FROM `_imports` WHERE `id` = ?", s.id)
		return nil, errors.Join(err, failed, deleteUnneeded(context.Background(), app))
	}
	samples, err := json.Marshal(s.samples)
	if err != nil {
		return nil, err
	}
	styles, err := json.Marshal(notNil(s.styles))
	if err != nil {
		return nil, err
	}
	_, err = sqlite.Exec(app,
		"UPDATE `_imports` SET `status` = 'new', `samples` = ?, `styles` = ?, `updated` = ? WHERE `id` = ?",
		string(samples), string(styles), stamp.Stored(time.Now()), s.id)
	if err != nil {
		return nil, fmt.Errorf("storing an import: %w", err)
	}
	return Find(app, s.id)
}

func unreadable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var disk *fs.PathError
	if errors.As(err, &disk) { // not the file's fault
		return err
	}
	reason := "cannot be read: " + err.Error()
	return &fault.Error{
		Code: fault.ValidationFailed, Message: "The file " + reason + ".",
		Fields: fault.Fields{"file": {Code: fault.CodeInvalidValue, Message: reason}}, Cause: err,
	}
}

// storage is an import whose rows are being stored.
type storage struct {
	ctx context.Context
	app core.App
	*File
	quota      int64 // of the tenant's imports, in bytes
	id, tenant string
	total      int
	samples    [][]string
	page       page           // that is not stored yet
	styles     []custom.Style // of the numbers and dates in the columns
}

func (s *storage) begin() error {
	var remarks []sheet.Remark
	for _, text := range s.Warnings {
		remarks = append(remarks, sheet.Remark{Text: text, IsWarning: true})
	}
	values := map[string]any{
		"id": s.id, "tenant": s.tenant, "name": strings.ToValidUTF8(s.name[:min(len(s.name), maxName)], ""),
		"status": string(storing), "separator": strings.Trim(string(s.Format), "\x00"), "headings": s.Headings,
		"now": stamp.Stored(time.Now()), "encoding": s.Encoding,
	}
	for name, list := range map[string]any{
		"columns": s.Columns, "mapping": s.Mapping, "above": notNil(s.Above), "remarks": notNil(remarks),
		"encodings": notNil(s.Undecided),
	} {
		encoded, err := json.Marshal(list)
		if err != nil {
			return err
		}
		values[name] = string(encoded)
	}
	changed, err := sqlite.WriteFor(s.ctx, s.app, s.tenant, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		return []sqlite.Statement{{
			Text: "INSERT INTO `_imports` (`id`, `tenant`, `name`, `status`, `separator`, " +
				"`headings`, `created`, `updated`, `encoding`, `columns`, `mapping`, `above`, `remarks`, `encodings`, `bytes`) " +
				"SELECT :id, `id`, :name, :status, :separator, :headings, :now, :now, :encoding, :columns, :mapping, :above, " +
				":remarks, :encodings, length(:columns) + length(:above) + length(:encodings) FROM `tenants` WHERE `id` = :tenant",
			Args: sqlite.Named(values),
		}}, s.checkQuota(tx)
	})
	if err == nil && changed[0] == 0 { // the tenant was deleted while the file arrived
		err = sql.ErrNoRows
	}
	return err
}

// stillStoringSQL reports whether the import ?1 and its tenant still exist.
const stillStoringSQL = "SELECT EXISTS (SELECT 1 FROM `_imports` i " +
	"JOIN `tenants` t ON t.`id` = i.`tenant` WHERE i.`id` = ?1)"

// mayStore returns an error if the import or its tenant was deleted meanwhile, or the tenant's imports
// exceed the quota.
func (s *storage) mayStore(tx sqlite.Reader) error {
	still, err := sqlite.Value[bool](tx, stillStoringSQL, s.id)
	if err == nil && !still {
		err = errors.New("it was deleted meanwhile")
	}
	return cmp.Or(err, s.checkQuota(tx))
}

func notNil[T any](list []T) []T { return append([]T{}, list...) }

// rows stores the rows page by page.
func (s *storage) rows() error {
	size := 0
	for {
		row, err := s.Read()
		if errors.Is(err, io.EOF) {
			return s.storePage()
		}
		if err != nil {
			return unreadable(s.ctx, err)
		}
		if found := (remark{row.Refused, row.Skipped, row.Warning}); found != (remark{}) {
			s.page.read[len(s.page.cells)] = found
		}
		s.page.cells, s.page.numbers = append(s.page.cells, row.Cells), append(s.page.numbers, row.Number)
		for i, cell := range row.Cells {
			size += len(cell)
			s.styles[i] |= custom.Seen(cell)
		}
		if len(s.page.cells) < pageRows && size < pageBytes {
			continue
		}
		if err := s.storePage(); err != nil {
			return err
		}
		size = 0
	}
}

// storePage stores the rows of the page, and begins the next one.
func (s *storage) storePage() error {
	p := s.page
	s.page = page{read: map[int]remark{}}
	if s.total+len(p.cells) > maxRows {
		return unreadable(s.ctx, fmt.Errorf("it has more than %d rows", maxRows))
	}
	if len(p.cells) == 0 {
		return nil
	}
	if s.total == 0 {
		s.samples = samplesOf(p.cells[:min(sampled, len(p.cells))])
	}
	for i, cells := range p.cells { // padded rows of a sheet with many columns would be many times as large as the file
		p.cells[i] = sheet.Trim(cells)
	}
	rows, err := wire.AppendJSON(nil, p.cells)
	if err != nil {
		return err
	}
	numbers, err := json.Marshal(p.numbers)
	if err != nil {
		return err
	}
	remarks, err := json.Marshal(p.read)
	if err != nil {
		return err
	}
	bytes := len(rows) + len(numbers) + len(remarks) + len(p.cells)*refusalBytes
	_, err = sqlite.WriteFor(s.ctx, s.app, s.tenant, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		return []sqlite.Statement{
			// the time shows that it is still being stored
			{Text: "UPDATE `_imports` SET `bytes` = `bytes` + ?, `total` = ?, `updated` = ? WHERE `id` = ?",
				Args: []any{bytes, s.total + len(p.cells), stamp.Stored(time.Now()), s.id}},
			{Text: "INSERT INTO `_importRows` (`import`, `first`, `tenant`, `rows`, `numbers`, `remarks`) " +
				"VALUES (?, ?, ?, ?, ?, ?)",
				Args: []any{s.id, s.total, s.tenant, string(rows), string(numbers), string(remarks)}},
		}, s.mayStore(tx)
	})
	s.total += len(p.cells)
	return err
}

// samplesOf returns the rows with cells that are short enough to show.
func samplesOf(rows [][]string) [][]string {
	samples := make([][]string, len(rows))
	for i, cells := range rows {
		for _, cell := range cells {
			samples[i] = append(samples[i], sheet.Cut(cell, maxSample))
		}
	}
	return samples
}
