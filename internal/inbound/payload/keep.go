package payload

import (
	"maps"
	"mime"
	"slices"
	"strconv"
	"strings"

	"contactbase/internal/wire"
)

// Kept is what may be stored of a body. It has no files and no text of more than maxValue bytes, such as an attachment:
// a body with one is stored as JSON without it.
type Kept struct {
	ContentType string
	Body        []byte
	Names       []string // a few properties, if the body was decoded
}

// Keep returns what may be stored of a body that Decode has refused or not seen.
func Keep(contentType string, body []byte) Kept {
	if len(body) <= maxValue {
		return Kept{ContentType: contentType, Body: body}
	}
	if d, err := open(contentType, body); err == nil {
		return d.kept
	}
	return Kept{ContentType: contentType, Body: body}
}

// document is a decoded body without its long texts.
type document struct {
	root     any
	warnings []string // about the whole body
	long     []string // where the texts were, with a . between names
	kept     Kept
}

// open decodes a body.
func open(contentType string, body []byte) (*document, error) {
	root, files, err := parse(contentType, body)
	if err != nil {
		return nil, err
	}
	d := &document{root: root}
	if len(body) > maxValue && !d.shorten(root) {
		d.root = nil
	}
	d.kept = Kept{contentType, body, arrived(d.root)}
	if len(files) > 0 {
		d.warnings = append(d.warnings, "files are not stored; "+IgnoredWarning(files))
	}
	if len(d.long) > 0 {
		slices.Sort(d.long)
		d.warnings = append(d.warnings, "a text may have at most "+strconv.Itoa(maxValue>>10)+" KiB; "+IgnoredWarning(d.long))
	}
	if len(d.long) > 0 || len(files) > 0 && len(body) > maxValue {
		d.kept.ContentType = "application/json"
		if _, params, _ := mime.ParseMediaType(contentType); params[topicParameter] != "" {
			topic := map[string]string{topicParameter: params[topicParameter]}
			d.kept.ContentType = mime.FormatMediaType(d.kept.ContentType, topic)
		}
		d.kept.Body, err = wire.AppendJSON(nil, d.root)
	}
	return d, err
}

// shorten removes the long texts from a value, and reports whether the value is none.
func (d *document) shorten(v any, at ...string) bool {
	switch v := v.(type) {
	case string:
		if len(v) > maxValue {
			d.long = append(d.long, strings.Join(at, "."))
			return false
		}
	case map[string]any:
		maps.DeleteFunc(v, func(name string, inner any) bool { return !d.shorten(inner, append(at, shorten(name))...) })
	case []any:
		for i, inner := range v {
			if !d.shorten(inner, append(at, strconv.Itoa(i))...) {
				v[i] = nil // the others keep their places
			}
		}
	}
	return true
}
