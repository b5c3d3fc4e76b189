package contact_test

import (
	"testing"

	"contactbase/internal/contact"
)

// A zero for calls within the country is no part of an international number, unless the number is only valid with it.
func TestTrunkZero(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"+49 0171 5550101":      "+491715550101",
		"+4901715550101":        "+491715550101",
		"+44 020 7946 0101":     "+442079460101",
		"+33 06 55 50 20 01":    "+33655502001",
		"+36 06 30 555 0101":    "+36305550101",
		"+39 06 5550101":        "+39065550101",
		"+225 07 07 55 01 01":   "+2250707550101",
		"+241 06 03 12 34":      "+24106031234",
		"+49 030 1":             "+490301",
		"+1 202 555 0101":       "+12025550101",
		"+99901234":             "+99901234",
		"+٤٩ ١٧١ ٥٥٥٠١٠١":       "+491715550101",
		"+९१ ९८७६५ ४३२१०":       "+919876543210",
		"+𝟒𝟗 𝟑𝟎 𝟏𝟐𝟑𝟒":           "+49301234",
		"＋49 ０171 5550101":      "+491715550101",
		"+๔๔ ๐๒๐ ๗๙๔๖ ๐๑๐๑":     "+442079460101",
		"+49 (0) 171 / 5550101": "+491715550101",
	} {
		got, wrong := contact.FieldNamed(contact.Phone).Normalize(text)
		if wrong != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", text, got, wrong, want)
		}
	}
}
