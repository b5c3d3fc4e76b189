package xlsx

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"math"
	"path"
	"strings"
)

// archive is a workbook that is read until ctx ends.
type archive struct {
	ctx   context.Context
	parts map[string]*zip.File // by their names, in lower case because some programs spell them differently
}

func openArchive(ctx context.Context, file io.ReaderAt, size int64) (archive, error) {
	a := archive{ctx, map[string]*zip.File{}}
	// Outside of a section there is nothing to read. A damaged directory leads there, and a file would call that an error
	// of the disk.
	directory := &metered{io.NewSectionReader(file, 0, size), maxDirectory}
	opened, err := zip.NewReader(directory, size)
	if err != nil {
		return a, damaged(err)
	}
	directory.left = math.MaxInt64
	for _, part := range opened.File {
		a.parts[partName(part.Name)] = part
	}
	return a, nil
}

// metered limits how much is read while zip.NewReader reads the directory of an archive, all of which it keeps.
type metered struct {
	io.ReaderAt
	left int64
}

func (m *metered) ReadAt(p []byte, offset int64) (int, error) {
	if m.left -= int64(len(p)); m.left < 0 {
		return 0, errFiles
	}
	return m.ReaderAt.ReadAt(p, offset)
}

func partName(name string) string {
	return strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(name, `\`, "/"), "/"))
}

// parser returns a parser of a part, and fs.ErrNotExist if there is no such part. The caller closes the part.
func (a archive) parser(name string, limit int64) (*parser, error) {
	part, ok := a.parts[name]
	if !ok {
		return nil, fs.ErrNotExist
	}
	opened, err := part.Open()
	if err != nil {
		return nil, damaged(err)
	}
	limits := &limits{Reader: opened, ctx: a.ctx, left: limit}
	return &parser{xml: xml.NewDecoder(limits), limits: limits, part: opened}, nil
}

// each calls do for the beginning of each element of a part that has at most limit bytes, until do returns an error.
func (a archive) each(name string, limit int64, do func(xml.StartElement) error) error {
	p, err := a.parser(name, limit)
	if err != nil {
		return err
	}
	defer p.part.Close()
	for {
		token, err := p.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if element, ok := token.(xml.StartElement); ok {
			if err := do(element); err != nil {
				return err
			}
		}
	}
}

// relation is how one part of a workbook names another.
type relation struct{ id, kind, target string }

// relations returns the relations of a part; those of the archive itself if the name is "".
func (a archive) relations(name string) (found []relation, err error) {
	folder, file := path.Split(name)
	err = a.each(folder+"_rels/"+file+".rels", maxLinks, func(element xml.StartElement) error {
		if element.Name.Local != "Relationship" {
			return nil
		}
		target := attribute(element, "Target")
		if !strings.HasPrefix(target, "/") {
			target = path.Join(folder, target)
		}
		found = append(found, relation{attribute(element, "Id"), path.Base(attribute(element, "Type")), partName(target)})
		return nil
	})
	return found, err
}
