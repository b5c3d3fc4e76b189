package sheet

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"contactbase/internal/charset"
	"contactbase/internal/tempfile"
)

// source is the file of a reader, which can be read twice, until ctx ends.
type source struct {
	ctx context.Context
	io.ReadSeeker
	begin int64
	copy  *tempfile.File // nil unless the reader was a pipe
}

// newSource returns the source of what r reads. It copies what cannot be read again to a temporary file in the folder.
func newSource(ctx context.Context, r io.Reader, folder string) (*source, error) {
	if file, ok := r.(io.ReadSeeker); ok {
		if begin, err := file.Seek(0, io.SeekCurrent); err == nil {
			return &source{ctx, file, begin, nil}, nil
		}
	}
	file, err := tempfile.New(folder)
	if err != nil {
		return nil, err
	}
	copied := &source{ctx, file, 0, file}
	buffered := bufio.NewWriterSize(file, firstLine)
	_, err = io.Copy(buffered, &cancellable{ctx, r})
	if err = errors.Join(err, buffered.Flush(), copied.rewind()); err != nil {
		return nil, errors.Join(err, copied.Close())
	}
	return copied, nil
}

func (s *source) Read(p []byte) (int, error) { return (&cancellable{s.ctx, s.ReadSeeker}).Read(p) }

func (s *source) rewind() error {
	_, err := s.Seek(s.begin, io.SeekStart)
	return err
}

// contains reports whether the file has a text in any case, as bytes or as UTF-16, whose zeros are skipped. The first
// letter of the text may not be in its rest.
func (s *source) contains(text string) (bool, error) {
	if err := s.rewind(); err != nil {
		return false, err
	}
	buffer, found := make([]byte, firstLine), 0
	for {
		length, err := s.Read(buffer)
		for _, b := range bytes.ToUpper(buffer[:length]) {
			switch b {
			case 0:
				continue
			case text[found]:
				found++
			case text[0]:
				found = 1
			default:
				found = 0
			}
			if found == len(text) {
				return true, nil
			}
		}
		if err != nil {
			return false, ignoreEOF(err)
		}
	}
}

func (s *source) Close() error {
	if s.copy == nil {
		return nil
	}
	return s.copy.Close()
}

// cancellable reads until ctx ends.
type cancellable struct {
	ctx context.Context
	io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.Reader.Read(p)
}

// marks are the byte order marks, at the beginning of a text, and the encodings that they show.
var marks = []struct{ mark, encoding string }{
	{"\xef\xbb\xbf", charset.UTF8}, {"\xff\xfe", charset.UTF16LE}, {"\xfe\xff", charset.UTF16BE},
}

func markedEncoding(head []byte) string {
	for _, known := range marks {
		if bytes.HasPrefix(head, []byte(known.mark)) {
			return known.encoding
		}
	}
	return ""
}

// findEncoding finds the encoding of a text that begins with head: the one that a byte order mark shows, the chosen
// one, UTF-16 if it has zeros, or the one that its bytes suggest.
func (r *Reader) findEncoding(head []byte, choice Choice) error {
	chosen := markedEncoding(head)
	if chosen == "" && choice.Encoding != "" {
		var ok bool
		if _, chosen, ok = charset.Named(choice.Encoding); !ok {
			return fmt.Errorf("%q is not the name of an encoding: choose one such as windows-1250 or shift_jis",
				Cut(choice.Encoding, maxShown))
		}
	}
	if chosen == "" && bytes.IndexByte(head, 0) >= 0 {
		chosen = charset.UTF16(head)
	}
	r.encoding = charset.Result{Encoding: chosen}
	if chosen == "" || chosen == charset.UTF8 {
		survey := charset.Survey{}
		if err := r.survey(&survey); err != nil {
			return err
		}
		r.encoding = survey.Result(choice.Country, chosen == charset.UTF8)
		if r.encoding.Encoding == charset.UTF8 && survey.Broken > 0 {
			r.FileWarnings = append(r.FileWarnings, brokenLines(survey.FirstBroken, survey.Broken, r.encoding.Broken))
		}
	}
	r.Encoding, r.Undecided = r.encoding.Encoding, r.encoding.Undecided
	return nil
}

func (r *Reader) survey(survey *charset.Survey) error {
	raw, err := r.raw()
	if err != nil {
		return err
	}
	return survey.Read(raw)
}

// text returns a reader of the text from its beginning, as UTF-8.
func (r *Reader) text() (io.Reader, error) {
	raw, err := r.raw()
	if err != nil {
		return nil, err
	}
	return r.encoding.NewReader(raw), nil
}

// raw returns a reader of the bytes from their beginning, without lines in character sets of their own.
func (r *Reader) raw() (io.Reader, error) {
	if err := r.from.rewind(); err != nil || !r.isLabelled {
		return r.from, err
	}
	return newLabelled(r.from), nil
}

// brokenLines returns the warning about lines of a UTF-8 text that are not UTF-8.
func brokenLines(first, lines int, encoding string) string {
	which := fmt.Sprintf("line %d is", first)
	if lines > 1 {
		which = fmt.Sprintf("line %d and %d more are", first, lines-1)
	}
	return fmt.Sprintf("%s not UTF-8, as the rest of the file is: read as %s", which, encoding)
}
