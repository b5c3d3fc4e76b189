package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// papers are the git pathspecs of the files that come with the program: those that the README links to, directly or
// indirectly.
var papers = []string{
	"LICENSE", "*.md", ":!.*", ":!e2e", ":!internal", "api/openapi.yaml", "docs/site/assets",
	"deploy/alerts.yml", "deploy/grafana.json", "deploy/container", "clients/go", "clients/python", "clients/typescript",
}

// listPapers returns the files that come with the program, by their paths in the sources.
func (r *release) listPapers(ctx context.Context) ([]string, error) {
	out, err := exec.CommandContext(ctx, "git",
		append([]string{"-C", r.root, "ls-files", "-z", "--"}, papers...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("asking git for the files: %w", err)
	}
	return strings.FieldsFunc(string(out), func(c rune) bool { return c == 0 }), nil
}

// modeOf returns the mode that a file of the sources is published with, regardless of this machine's umask.
func modeOf(path string) (os.FileMode, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	if info.Mode()&0o100 != 0 {
		return 0o755, nil
	}
	return 0o644, nil
}

// entry is a file of an archive.
type entry struct {
	name   string // in the archive
	source string // on this machine
	mode   os.FileMode
}

// attachments returns the files that accompany an executable.
func (r *release) attachments(t target, binary string) []entry {
	return []entry{
		{licensePaper, filepath.Join(filepath.Dir(binary), licensePaper), 0o644},
		{"sbom.cdx.json", filepath.Join(r.out, r.name(t)+".cdx.json"), 0o644},
	}
}

// writeArchive writes the archive of a system: one folder with the program and its papers.
func (r *release) writeArchive(t target, binary string) error {
	folder := r.name(t)
	entries := []entry{{folder + "/" + t.executable(), binary, 0o755}}
	for _, about := range r.attachments(t, binary) {
		entries = append(entries, entry{folder + "/" + about.name, about.source, about.mode})
	}
	for _, name := range r.papers {
		source := filepath.Join(r.root, name)
		mode, err := modeOf(source)
		if err != nil {
			return err
		}
		entries = append(entries, entry{folder + "/" + name, source, mode})
	}
	pack, ending := writeTar, ".tar.gz"
	if t.system == "windows" {
		pack, ending = writeZip, ".zip"
	}
	return create(filepath.Join(r.out, folder+ending), func(file io.Writer) error { return pack(file, entries, r.at) })
}

// create writes a file.
func create(path string, write func(io.Writer) error) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := write(file); err != nil {
		_ = file.Close() // the first error tells more
		return fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	return file.Close()
}

func writeTar(file io.Writer, entries []entry, at time.Time) error {
	compressed, err := gzip.NewWriterLevel(file, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(compressed)
	for _, e := range entries {
		content, err := os.ReadFile(e.source)
		if err != nil {
			return err
		}
		header := &tar.Header{
			Name: e.name, Size: int64(len(content)), Mode: int64(e.mode), ModTime: at, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return compressed.Close()
}

func writeZip(file io.Writer, entries []entry, at time.Time) error {
	archive := zip.NewWriter(file)
	for _, e := range entries {
		content, err := os.ReadFile(e.source)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: at}
		header.SetMode(e.mode)
		part, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := part.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}
