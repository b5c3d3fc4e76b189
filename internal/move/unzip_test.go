package move_test

import (
	"archive/zip"
	"bytes"
	"io"
	"testing"
)

// replaced returns the archive with other bytes in one of its files, as a zip that is sound.
func replaced(t *testing.T, archive []byte, name string, change func([]byte) []byte) []byte {
	t.Helper()
	opened, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	var made bytes.Buffer
	to := zip.NewWriter(&made)
	for _, file := range opened.File {
		from, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(from)
		if err != nil {
			t.Fatal(err)
		}
		if file.Name == name {
			text = change(text)
		}
		part, err := to.Create(file.Name)
		if err == nil {
			_, err = part.Write(text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return made.Bytes()
}

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
