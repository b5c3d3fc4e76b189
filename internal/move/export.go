package move

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
	"contactbase/internal/tenant"
)

// page is how many rows are read together.
const page = 500

// Progress is told how many rows of how many are done.
type Progress func(done, total int)

// Source is a tenant that is exported.
type Source struct {
	App        core.App
	Tenant     *tenant.Tenant
	Program    string // its version
	Passphrase string
	Progress   Progress
}

// Export writes the archive of a tenant, which has to be frozen. Other tenants go on writing meanwhile.
func (s *Source) Export(ctx context.Context, to io.Writer) (*Manifest, error) {
	state, err := tenant.StateOf(sqlite.Direct(s.App.ConcurrentDB()), s.Tenant.Id)
	if err != nil {
		return nil, err
	}
	if state != tenant.Frozen {
		return nil, errors.New("the tenant is open for writes, some of which would be missed: close it with --freeze")
	}
	if err := s.checkFiles(); err != nil {
		return nil, err
	}
	manifest := &Manifest{
		Format: format, Program: s.Program, Tenant: s.Tenant.Id, Name: s.Tenant.Name(), Created: stamp.Shown(time.Now()), Salt: newSalt(),
	}
	seal, err := newSealer(s.Passphrase, manifest.Salt)
	if err != nil {
		return nil, err
	}
	x := &export{Source: s, ctx: ctx, sealer: seal, out: newWriter(to, manifest)}
	if err := x.run(); err != nil {
		return nil, err
	}
	return manifest, x.out.close(seal)
}

// checkFiles refuses a tenant with files of an admin's own fields, which are beside the database.
func (s *Source) checkFiles() error {
	for _, k := range kinds {
		fields, err := k.fields(s.App)
		if err != nil {
			return err
		}
		for _, field := range fields {
			if field.Type != core.FieldTypeFile && field.Type != core.FieldTypeFile+"[]" {
				continue
			}
			query := "SELECT count(*) FROM `" + k.table + "` WHERE `" + k.key + "` IN (" + k.keys + ") AND `" + field.Name + "` NOT IN ('', '[]')"
			count, err := sqlite.Value[int](sqlite.Direct(s.App.ConcurrentDB()), query, s.Tenant.Id)
			if err != nil {
				return err
			}
			if count > 0 {
				return fmt.Errorf("the field %s of %d rows of %s holds files, which an archive cannot have: empty it first", field.Name, count, k.table)
			}
		}
	}
	return nil
}

// export is an export that runs.
type export struct {
	*Source
	ctx         context.Context //nolint:containedctx // it lives for one call of Export
	sealer      *sealer
	out         *writer
	done, total int
}

func (x *export) run() error {
	for _, k := range kinds {
		count, err := k.count(x.App, x.Tenant.Id)
		if err != nil {
			return err
		}
		x.total += count
	}
	for _, k := range kinds {
		fields, err := k.fields(x.App)
		if err != nil {
			return err
		}
		t := &table{kind: k, app: x.App, sealer: x.sealer, tenant: x.Tenant.Id, fields: fields}
		err = x.out.file(k.file(), fields, func(line func([]byte) error) error { return x.rows(t, line) })
		if err != nil {
			return fmt.Errorf("exporting %s: %w", k.table, err)
		}
	}
	return nil
}

// rows writes the rows of a table, page by page.
func (x *export) rows(t *table, line func([]byte) error) error {
	keys, err := sqlite.Values[string](sqlite.Direct(x.App.ConcurrentDB()), t.keys, x.Tenant.Id)
	if err != nil {
		return err
	}
	for len(keys) > 0 {
		if err := x.ctx.Err(); err != nil {
			return err
		}
		some := keys[:min(page, len(keys))]
		keys = keys[len(some):]
		found, err := x.page(t, some, line)
		if err != nil {
			return err
		}
		if found < len(some) && !t.ageing {
			return fmt.Errorf("%d rows went while they were read", len(some)-found)
		}
		x.done += len(some)
		x.Progress(x.done, x.total)
	}
	return nil
}

// page writes the rows with the keys, and returns how many there were.
func (x *export) page(t *table, keys []string, line func([]byte) error) (found int, err error) {
	encoded, err := json.Marshal(keys)
	if err != nil {
		return 0, err
	}
	values, into := make([]any, len(t.fields)), make([]any, len(t.fields))
	for i := range values {
		into[i] = &values[i]
	}
	query := "SELECT t.* FROM json_each(?1) j CROSS JOIN `" + t.table + "` t ON t.`" + t.key + "` = j.`value` ORDER BY j.`key`"
	err = sqlite.Each(sqlite.Direct(x.App.ConcurrentDB()), query, func(rows *sql.Rows) error {
		found++
		if err := rows.Scan(into...); err != nil {
			return err
		}
		encoded, err := t.line(values)
		if err != nil {
			return err
		}
		return line(encoded)
	}, string(encoded))
	return found, err
}
