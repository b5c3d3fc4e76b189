package contact_test

import (
	"errors"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/contact"
	"contactbase/internal/fault"
)

// A text in which nothing is visible is not a value, in every shipped field and however it is written.
func TestInvisibleText(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	ranges := [][2]rune{
		{' ', ' '}, {0xA0, 0xA0}, {0xAD, 0xAD}, {0x34F, 0x34F}, {0x61C, 0x61C}, {0x115F, 0x1160}, {0x1680, 0x1680}, {0x17B4, 0x17B5}, {0x180B, 0x180F},
		{0x2000, 0x200F}, {0x2028, 0x202F}, {0x205F, 0x206F}, {0x2800, 0x2800}, {0x3000, 0x3000}, {0x3164, 0x3164}, {0xFE00, 0xFE0F}, {0xFEFF, 0xFEFF},
		{0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0x13441, 0x13442}, {0x16FE4, 0x16FE4}, {0x1D159, 0x1D159}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF},
	}
	for _, r := range ranges {
		for c := r[0]; c <= r[1]; c++ {
			for _, text := range []string{string(c), "\ufeff" + string(c) + " " + string(c)} {
				for _, field := range contact.Fields {
					changes, err := contact.ParseChanges(b.App, map[string]any{field.Name: text})
					if err != nil || changes[field.Name] != "" {
						t.Errorf("%s %U gives %q (%v)", field.Name, []rune(text), changes[field.Name], err)
					}
				}
			}
		}
	}
	for _, text := range []string{"\ufeff", "\u3164 \u2800"} {
		var faults fault.Fields
		if _, err := b.create(map[string]any{"name": text, "email": text}); !errors.As(err, &faults) || faults["name"].Code != fault.CodeRequired {
			t.Errorf("a contact named %U gives %v", []rune(text), err)
		}
		collection, err := b.App.FindCollectionByNameOrId(contact.CollectionName)
		if err != nil {
			t.Fatal(err)
		}
		record := core.NewRecord(collection)
		record.Load(map[string]any{"tenant": b.Tenant, "name": text})
		if err := b.App.Save(record); err == nil {
			t.Errorf("the dashboard stores a contact named %U", []rune(text))
		}
	}
}

// What is visible keeps what is not, and signs that look empty only by their category are visible.
func TestVisibleText(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	for _, text := range []string{
		"\ufeffAda", "a\u200db", "👩\u200d🔬", "❤\ufe0f", "नि", ".", "-", "\u0301", "\u0600", "\u06dd", "\ufffc", "\ufffd", "\ue000", "ᅡ", "ㅤㄱ",
	} {
		if changes, err := contact.ParseChanges(b.App, map[string]any{"company": text}); err != nil || changes["company"] != text {
			t.Errorf("%U gives %q (%v)", []rune(text), changes["company"], err)
		}
	}
}
