package move

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/secret"
	"contactbase/internal/wire"
)

// table is the rows of a kind, as they are turned into lines and back.
type table struct {
	kind
	app    core.App
	sealer *sealer
	tenant string
	fields []Field
}

// line returns the line of a row.
func (t *table) line(values []any) ([]byte, error) {
	b := make([]byte, 0, 512)
	id := t.idOf(values)
	for i, field := range t.fields {
		b = append(b, "{,"[min(i, 1)])
		b, _ = wire.AppendJSON(b, field.Name) // a string always encodes
		b = append(b, ':')
		value, err := t.outgoing(field.Name, id, values[i])
		if err == nil {
			b, err = wire.AppendJSON(b, value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s of the row %s of %s: %w", field.Name, id, t.table, err)
		}
	}
	return append(b, '}'), nil
}

// idOf returns what a row is called.
func (t *table) idOf(values []any) string {
	place := slices.IndexFunc(t.fields, func(f Field) bool { return f.Name == t.key })
	id, _ := values[place].(string)
	return id
}

// outgoing returns a value as it is in a line.
func (t *table) outgoing(column, id string, value any) (any, error) {
	if reset, begins := t.reset[column]; begins {
		return reset, nil
	}
	switch v := value.(type) {
	case []byte:
		value = string(v)
	case bool:
		if value = 0; v {
			value = 1
		}
	}
	text, isText := value.(string)
	if !isText || text == "" {
		return value, nil
	}
	if !utf8.ValidString(text) {
		return nil, fmt.Errorf("it is no valid UTF-8")
	}
	isSecret := slices.Contains(t.secrets, column)
	if !isSecret && !slices.Contains(t.private, column) {
		return text, nil
	}
	if isSecret {
		var err error
		if text, err = secret.Open(t.app, text); err != nil {
			return nil, err
		}
	}
	return t.sealer.seal(text, about(t.table, id, column)), nil
}

// values returns the values of the row of a line, in the order of the fields.
func (t *table) values(line []byte) ([]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.UseNumber()
	row := make(map[string]any, len(t.fields))
	if err := decoder.Decode(&row); err != nil {
		return nil, fmt.Errorf("the archive is damaged: a line of %s is no JSON: %w", t.file(), err)
	}
	id, _ := row[t.key].(string)
	if owner, owned := row["tenant"]; owned && owner != t.tenant || t.table == kinds[0].table && id != t.tenant {
		return nil, fmt.Errorf("the row %s of %s belongs to another tenant", id, t.file())
	}
	values := make([]any, len(t.fields))
	for i, field := range t.fields {
		value, err := t.incoming(field.Name, id, row[field.Name])
		if err != nil {
			return nil, fmt.Errorf("%s of the row %s of %s: %w", field.Name, id, t.file(), err)
		}
		values[i] = value
	}
	return values, nil
}

// incoming returns the value of a line as it is stored.
func (t *table) incoming(column, id string, value any) (any, error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case json.Number:
		if whole, err := v.Int64(); err == nil {
			return whole, nil
		}
		return v.Float64()
	case string:
		return t.incomingText(column, id, v)
	default:
		return nil, fmt.Errorf("it is neither a text nor a number")
	}
}

func (t *table) incomingText(column, id, text string) (string, error) {
	isSecret := slices.Contains(t.secrets, column)
	if text == "" || !isSecret && !slices.Contains(t.private, column) {
		return text, nil
	}
	plain, err := t.sealer.open(text, about(t.table, id, column))
	if err != nil || !isSecret {
		return plain, err
	}
	return secret.Seal(t.app, plain)
}

// insertion returns the statement that writes a row.
func (t *table) insertion() string {
	names := make([]string, len(t.fields))
	for i, field := range t.fields {
		names[i] = "`" + field.Name + "`"
	}
	return "INSERT INTO `" + t.table + "` (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")"
}

// columns returns the texts of rows by the names of their columns.
func (t *table) columns(rows [][]any) []map[string]string {
	named := make([]map[string]string, len(rows))
	for i, values := range rows {
		named[i] = make(map[string]string, len(t.fields))
		for place, field := range t.fields {
			named[i][field.Name], _ = values[place].(string)
		}
	}
	return named
}
