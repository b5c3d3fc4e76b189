package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"strings"
	"time"

	"github.com/pocketbase/pocketbase/core"

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

// Store reads a sheet and stores its rows as an import of the tenant, which Check or Start begins. name is the name of the file, and sheetName
// that of a sheet in a workbook, or "" for the first one. The error is a *fault.Error if the sheet cannot be read or the tenant's imports exceed
// Quota, sql.ErrNoRows if there is no such tenant, and the cause of ctx once that ends.
func Store(ctx context.Context, app core.App, tenantID, name, sheetName string, from io.Reader) (*Import, error) {
	if _, err := app.FindRecordById(tenant.CollectionName, tenantID); err != nil {
		return nil, err
	}
	reader, err := Open(ctx, app, sheetName, from)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reader.Close() }()
	return storeRows(ctx, app, tenantID, name, reader, Quota)
}

// Open reads the names of a sheet's columns. sheetName is as for Store. The error is a *fault.Error if the sheet cannot be read. The caller closes
// the reader.
func Open(ctx context.Context, app core.App, sheetName string, from io.Reader) (*sheet.Reader, error) {
	reader, err := sheet.NewReader(ctx, from, app.DataDir(), sheetName)
	if err != nil {
		return nil, unreadable(ctx, err)
	}
	return reader, nil
}

// StoreRows is Store for a sheet that Open has opened, without a quota.
func StoreRows(ctx context.Context, app core.App, tenantID, name string, reader *sheet.Reader) (*Import, error) {
	return storeRows(ctx, app, tenantID, name, reader, math.MaxInt64)
}

func storeRows(ctx context.Context, app core.App, tenantID, name string, reader *sheet.Reader, quota int64) (*Import, error) {
	mapping, err := sheet.Suggest(app, reader.Columns)
	if err != nil {
		return nil, err
	}
	s := &storage{ctx: ctx, app: app, reader: reader, mapping: mapping, quota: quota, id: recordid.New(time.Now()), tenant: tenantID, name: strings.ToValidUTF8(name[:min(len(name), maxName)], "")}
	if err := s.begin(); err != nil {
		return nil, fmt.Errorf("storing an import: %w", err)
	}
	if err := s.rows(); err != nil {
		// without the rows at once: a file that ends badly would not count for the quota, and its rows would stay until retention
		return nil, errors.Join(err, s.write("DELETE FROM `_imports` WHERE `id` = ?", s.id), sqlite.InChunks(context.Background(), app, deleteUnneeded))
	}
	samples, err := json.Marshal(s.samples)
	if err != nil {
		return nil, err
	}
	err = s.write("UPDATE `_imports` SET `status` = 'new', `samples` = ?, `updated` = ? WHERE `id` = ?", string(samples), stamp.Stored(time.Now()), s.id)
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
		Code: fault.ValidationFailed, Message: "The file " + reason + ".", Fields: fault.Fields{"file": {Code: fault.CodeInvalidValue, Message: reason}}, Cause: err,
	}
}

// storage is an import whose rows are being stored.
type storage struct {
	ctx              context.Context
	app              core.App
	reader           *sheet.Reader
	mapping          sheet.Mapping
	quota            int64 // of the tenant's imports, in bytes
	id, tenant, name string
	total            int
	samples          [][]string
	numbers          []int // of the rows of the page
}

func (s *storage) begin() error {
	columns, err := json.Marshal(s.reader.Columns)
	if err != nil {
		return err
	}
	mapping, err := json.Marshal(s.mapping)
	if err != nil {
		return err
	}
	now := stamp.Stored(time.Now())
	_, err = sqlite.WriteFor(s.ctx, s.app, s.tenant, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		return []sqlite.Statement{{
			Text: "INSERT INTO `_imports` (`id`, `tenant`, `name`, `status`, `separator`, `columns`, `mapping`, `bytes`, `created`, `updated`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			Args: []any{s.id, s.tenant, s.name, string(storing), strings.Trim(string(s.reader.Format), "\x00"), string(columns), string(mapping), len(columns), now, now},
		}}, s.checkQuota(tx)
	})
	return err
}

// rows stores the rows page by page.
func (s *storage) rows() error {
	var page [][]string
	size := 0
	for {
		cells, err := s.reader.Read()
		if errors.Is(err, io.EOF) {
			return s.page(page)
		}
		if err != nil {
			return unreadable(s.ctx, err)
		}
		page = append(page, cells)
		s.numbers = append(s.numbers, s.reader.Row())
		for _, cell := range cells {
			size += len(cell)
		}
		if len(page) < pageRows && size < pageBytes {
			continue
		}
		if err := s.page(page); err != nil {
			return err
		}
		page, size, s.numbers = nil, 0, nil
	}
}

func (s *storage) page(page [][]string) error {
	if s.total+len(page) > maxRows {
		return unreadable(s.ctx, fmt.Errorf("it has more than %d rows", maxRows))
	}
	if len(page) == 0 {
		return nil
	}
	if s.total == 0 {
		s.samples = samplesOf(page[:min(sampled, len(page))])
	}
	for i, cells := range page { // padded rows of a sheet with many columns would be many times as large as the file
		page[i] = sheet.Trim(cells)
	}
	encoded, err := wire.AppendJSON(nil, page)
	if err != nil {
		return err
	}
	numbers, err := json.Marshal(s.numbers)
	if err != nil {
		return err
	}
	bytes := len(encoded) + len(numbers) + len(page)*refusalBytes
	changed, err := sqlite.WriteFor(s.ctx, s.app, s.tenant, func(tx sqlite.Reader) ([]sqlite.Statement, error) {
		return []sqlite.Statement{
			// the time shows that it is still being stored
			{Text: "UPDATE `_imports` SET `bytes` = `bytes` + ?, `total` = ?, `updated` = ? WHERE `id` = ?", Args: []any{bytes, s.total + len(page), stamp.Stored(time.Now()), s.id}},
			{Text: "INSERT INTO `_importRows` (`import`, `first`, `tenant`, `rows`, `numbers`) VALUES (?, ?, ?, ?, ?)", Args: []any{s.id, s.total, s.tenant, string(encoded), string(numbers)}},
		}, s.checkQuota(tx)
	})
	if err == nil && changed[0] == 0 {
		err = errors.New("it was deleted meanwhile")
	}
	s.total += len(page)
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

func (s *storage) write(statement string, args ...any) error {
	_, err := sqlite.Write(s.app, func(sqlite.Reader) ([]sqlite.Statement, error) {
		return []sqlite.Statement{{Text: statement, Args: args}}, nil
	})
	return err
}
