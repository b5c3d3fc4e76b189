package payload

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
)

// FuzzDecode decodes anything with any mapping. It must not panic, and the result must be bounded and of the form
// that the package inbound relies on.
func FuzzDecode(f *testing.F) {
	for _, file := range recordedPayloads(f) {
		body, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		sender := filepath.Base(filepath.Dir(file))
		for ext, contentType := range map[string]string{
			".json": asJSON, ".form": asForm, ".multipart": "multipart/form-data; boundary=" + strings.TrimPrefix(strings.SplitN(string(body), "\r\n", 2)[0], "--"),
		} {
			if filepath.Ext(file) == ext {
				f.Add(contentType, body, "")
				f.Add(contentType, body, fmt.Sprintf(`{"preset":%q,"deleteWhen":["unsubscribe"]}`, sender))
			}
		}
	}
	f.Add(asJSON, []byte(`{"a":[{"e":"x"}],"t":"gone","s":"{\"q\":[1]}"}`),
		`{"items":"a.#(e)#","action":"t","deleteWhen":["gone"],"fields":{"email":["e","s.@fromstr.q.0"],"name":{"join":["e","@dig:e.0"]},"x":"[e,@this]|@flatten|0"}}`)
	f.Add(asForm, []byte("a[b][]=1&a[b][2]=x&a%5Bc%5D=%41"), `{"fields":{"email":"a.b.#","name":"@keys|0"}}`)
	f.Fuzz(func(t *testing.T, contentType string, body []byte, mapping string) {
		if len(body) > MaxBody {
			t.Skip()
		}
		m, err := ParseMapping([]byte(mapping))
		var f *fault.Error
		if err != nil && !errors.As(err, &f) {
			t.Fatalf("ParseMapping: %v", err)
		}
		p, err := Decode(contentType, body, m)
		if err != nil {
			if !errors.As(err, &f) || f.Message == "" || !utf8.ValidString(f.Message) {
				t.Fatalf("Decode: %v", err)
			}
			return
		}
		if len(p.Items) > MaxItems || !p.Batch && len(p.Items) > 1 {
			t.Fatalf("%d items, batch %v", len(p.Items), p.Batch)
		}
		for _, it := range p.Items {
			checkItem(t, it)
		}
		if again, err := Decode(contentType, body, m); err != nil || !reflect.DeepEqual(p, again) {
			t.Fatalf("twice: %+v, %+v, %v", p, again, err)
		}
	})
}

func checkItem(t *testing.T, it Item) {
	t.Helper()
	for _, w := range it.Warnings {
		if len(w) > 10_000 || !utf8.ValidString(w) {
			t.Fatalf("warning %q", w)
		}
	}
	if it.Ignored {
		if len(it.Warnings) == 0 {
			t.Fatal("an item is ignored without a word")
		}
		return
	}
	if it.Err != nil {
		if it.Err.Code == "" || it.Err.Message == "" {
			t.Fatalf("error %+v", it.Err)
		}
		return
	}
	if !slices.Contains([]contact.Action{contact.Create, contact.Update, contact.Upsert, contact.Delete}, it.Action) {
		t.Fatalf("action %q", it.Action)
	}
	for name, v := range it.Fields {
		if !isField(name) {
			t.Fatalf("field %q", name)
		}
		checkValue(t, v)
	}
	for name, v := range it.Extra {
		if !utf8.ValidString(name) {
			t.Fatalf("extra %q", name)
		}
		switch v.(type) {
		case []any, map[string]any, bool, json.Number:
		default:
			checkValue(t, v)
		}
	}
	if it.Action == contact.Create != (it.Match == nil) && it.Action != contact.Delete {
		t.Fatalf("keys %+v", it)
	}
	for _, key := range it.Match {
		if key.Value == "" {
			t.Fatalf("key %+v", key)
		}
	}
}

func checkValue(t *testing.T, v any) {
	t.Helper()
	s, ok := v.(string)
	if v == nil {
		return
	}
	if !ok || s == "" || s != strings.TrimSpace(s) || !utf8.ValidString(s) || len(s) > 3*maxValue+2 {
		t.Fatalf("value %T %q", v, s)
	}
}
