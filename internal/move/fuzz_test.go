package move_test

import (
	"bytes"
	"testing"
)

// FuzzArchive overwrites bytes of an archive or of the database in it. An import into the installation that it comes
// from is always refused: what the checks of the archive let through is a tenant that exists already.
func FuzzArchive(f *testing.F) {
	s := newSource(f, 20)
	s.freeze(f)
	archive := s.export(f)
	database := unsealed(f, archive)
	f.Add(uint32(0), []byte("age-encryption.org/v1\n-> scrypt AAAAAAAAAAAAAAAAAAAAAA 30\n"), true)
	f.Add(uint32(0), []byte("SQLite format 3\x00\x02\x00"), false)
	f.Add(uint32(100), []byte{0x0d, 0, 0, 0xff, 0xff}, false)
	for _, text := range []string{"CREATE TABLE `contacts`", s.tenant, "p7@example.com", "contact.updated"} {
		f.Add(uint32(max(0, bytes.Index(database, []byte(text)))), []byte("x' OR 1 --\x00\xff"), false)
	}
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, isSealed bool) {
		content := database
		if isSealed {
			content = archive
		}
		content = bytes.Clone(content)
		copy(content[int(at)%len(content):], patch)
		if !isSealed {
			content = sealed(t, content, nil)
		}
		if err := importInto(t.Context(), t, s.app, content, nil); err == nil || err.Error() == "" {
			t.Errorf("%q at %d is imported", patch, at)
		}
	})
}
