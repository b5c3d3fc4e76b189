package tempfile_test

import (
	"io"
	"os"
	"testing"

	"contactbase/internal/tempfile"
)

// A file can be written and read until it is closed. Afterwards the folder has nothing of it.
func TestFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, err := tempfile.New(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := file.WriteString("Ada"); err != nil {
		t.Fatal(err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(file); err != nil || string(text) != "Ada" {
		t.Errorf("the file has %q (%v)", text, err)
	}
	if err := file.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("the folder has %v (%v)", left, err)
	}
}
