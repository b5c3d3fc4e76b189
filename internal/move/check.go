package move

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// checkPage is how many values are looked up together.
const checkPage = 1_000

// checkFields refuses an archive with fields that are not here, or are something else.
func (a *Archive) checkFields(app core.App) error {
	var missing, different []string
	for i, k := range kinds {
		here, err := k.fields(app)
		if err != nil {
			return err
		}
		for _, field := range a.Files[i].Fields {
			place := slices.IndexFunc(here, func(f Field) bool { return f.Name == field.Name })
			name := k.table + "." + field.Name
			switch {
			case place < 0:
				missing = append(missing, strings.TrimSpace(name+" "+field.Type))
			case here[place].Type != field.Type:
				different = append(different, fmt.Sprintf("%s is %s there and %s here", name, field.Type, here[place].Type))
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the archive has fields that this installation lacks: %s; add them in the dashboard, or update this installation", strings.Join(missing, ", "))
	}
	if len(different) > 0 {
		return fmt.Errorf("the archive has fields that are of another type: %s; change them in the dashboard", strings.Join(different, "; "))
	}
	return nil
}

// check reads the whole archive. With taken it refuses values that somebody here has already.
func (a *Archive) check(ctx context.Context, app core.App, taken bool) error {
	for i := range kinds {
		if err := a.checkFile(ctx, app, i, taken); err != nil {
			return err
		}
	}
	return nil
}

func (a *Archive) checkFile(ctx context.Context, app core.App, place int, taken bool) error {
	from, err := a.open(place)
	if err != nil {
		return err
	}
	defer from.close()
	t := a.table(app, place)
	var unique []string
	if taken {
		unique = t.unique
	}
	values := map[string][]string{}
	for count := 0; ; count++ {
		line, err := from.next()
		ended := errors.Is(err, io.EOF)
		if err != nil && !ended {
			return err
		}
		if ended || count%checkPage == checkPage-1 {
			if err := errors.Join(ctx.Err(), t.checkTaken(values)); err != nil {
				return err
			}
			clear(values)
		}
		if ended {
			return nil
		}
		if len(unique) == 0 {
			continue
		}
		var row map[string]any
		if err := json.Unmarshal(line, &row); err != nil {
			return fmt.Errorf("the archive is damaged: a line of %s is no JSON: %w", t.file(), err)
		}
		for _, column := range unique {
			if value, _ := row[column].(string); value != "" {
				values[column] = append(values[column], value)
			}
		}
	}
}

// table returns how the rows of a file are read.
func (a *Archive) table(app core.App, place int) *table {
	return &table{kind: kinds[place], app: app, sealer: a.sealer, tenant: a.Tenant, fields: a.Files[place].Fields}
}

// checkTaken refuses values that somebody here has in a column.
func (t *table) checkTaken(values map[string][]string) error {
	for column, some := range values {
		encoded, err := json.Marshal(some)
		if err != nil {
			return err
		}
		found, err := sqlite.Values[string](sqlite.Direct(t.app.ConcurrentDB()), "SELECT j.`value` FROM json_each(?1) j WHERE EXISTS (SELECT 1 FROM `"+t.table+"` t WHERE t.`"+column+"` = j.`value`)", string(encoded))
		if err != nil {
			return err
		}
		if len(found) == 0 {
			continue
		}
		if column != t.key {
			found = nil // it may be the hash of a credential
		}
		return fmt.Errorf("%s of %s belong to somebody else here already: %s", column, t.table, strings.Join(found[:min(5, len(found))], ", "))
	}
	return nil
}

// checkFree refuses to import over something.
func checkFree(app core.App, tenantID string) error {
	const leavingSQL = "SELECT EXISTS (SELECT 1 FROM `_deletions` WHERE `collection` = 'tenants' AND `record` = ?1) OR " +
		"EXISTS (SELECT 1 FROM `contacts` WHERE `tenant` = ?1) OR EXISTS (SELECT 1 FROM `events` WHERE `tenant` = ?1)"
	tx := sqlite.Direct(app.ConcurrentDB())
	there, err := sqlite.Value[bool](tx, "SELECT EXISTS (SELECT 1 FROM `tenants` WHERE `id` = ?1)", tenantID)
	if err != nil {
		return err
	}
	leaving, err := sqlite.Value[bool](tx, leavingSQL, tenantID)
	switch {
	case err != nil:
		return err
	case there:
		return fmt.Errorf("the tenant %s is here already: an archive goes only where there is nothing of it", tenantID)
	case leaving:
		return fmt.Errorf("the tenant %s was deleted here, and what belonged to it is still being removed: let the server run, and try again", tenantID)
	}
	return nil
}
