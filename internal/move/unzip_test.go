package move_test

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"
)

// unzipped returns all that is in an archive.
func unzipped(t *testing.T, archive []byte) (all []byte) {
	t.Helper()
	opened, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range opened.File {
		part, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, text...)
	}
	return all
}
