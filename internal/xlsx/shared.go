package xlsx

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strconv"

	"contactbase/internal/tempfile"
)

// shared has the texts that cells share, in a file.
type shared struct {
	file   io.ReaderAt
	begin  int64
	ends   [][]uint32 // of each text, from begin, in chunks that never move
	count  int
	size   int64 // of all texts in bytes
	writer *bufio.Writer
	first  []byte // texts that are in memory, too
	buffer []byte // of text
}

const (
	sharedChunk = 1 << 16
	maxFirst    = 2 << 20 // bytes of texts in memory: of most workbooks all
)

// end returns where a text ends.
func (s *shared) end(index int) uint32 { return s.ends[index/sharedChunk][index%sharedChunk] }

func (s *shared) add(end uint32) {
	if s.count%sharedChunk == 0 {
		s.ends = append(s.ends, make([]uint32, 0, sharedChunk))
	}
	last := len(s.ends) - 1
	s.ends[last] = append(s.ends[last], end)
	s.count, s.size = s.count+1, int64(end)
}

// readShared writes the shared texts of a part, if there is one, to the file from begin on.
func readShared(a archive, part string, file *tempfile.File, begin int64) (*shared, error) {
	s := &shared{file: file, begin: begin, writer: bufio.NewWriter(io.NewOffsetWriter(file, begin))}
	p, err := a.parser(part, maxPart)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	defer p.part.Close()
	end := uint32(0)
	for {
		token, err := p.next()
		if errors.Is(err, io.EOF) {
			return s, s.writer.Flush()
		}
		if err != nil {
			return nil, err
		}
		if element, ok := token.(xml.StartElement); !ok || element.Name.Local != "si" {
			continue
		}
		item, err := p.content("si")
		if err != nil {
			return nil, err
		}
		if s.count == maxShared {
			return nil, fmt.Errorf(
				"the workbook has more than %d different texts: split it, or save the sheet as CSV", maxShared,
			)
		}
		text := unescape(item.text)
		if int(end)+len(text) <= maxFirst {
			s.first = append(s.first, text...)
		}
		n, err := s.writer.WriteString(text)
		if err != nil {
			return nil, err
		}
		end += uint32(n) // a part has at most maxPart bytes
		s.add(end)
	}
}

// text returns the text with the index that a cell has.
func (s *shared) text(cell string) (string, error) {
	index, err := strconv.Atoi(cell)
	if err != nil || index < 0 || index >= s.count {
		return "", damaged(fmt.Errorf("no shared text %q", cell))
	}
	begin := uint32(0)
	if index > 0 {
		begin = s.end(index - 1)
	}
	end := s.end(index)
	if int(end) <= len(s.first) {
		return string(s.first[begin:end]), nil
	}
	length := int(end - begin)
	s.buffer = slices.Grow(s.buffer[:0], length)[:length]
	_, err = s.file.ReadAt(s.buffer, s.begin+int64(begin))
	return string(s.buffer), err
}
