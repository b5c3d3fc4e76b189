package xlsx

import (
	"bufio"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
)

// shared has the texts that cells share, in a file.
type shared struct {
	file   io.ReaderAt
	begin  int64
	ends   [][]uint32 // of each text, from begin, in chunks that never move
	count  int
	writer *bufio.Writer
}

const sharedChunk = 1 << 16

// end returns where a text ends.
func (s *shared) end(index int) uint32 { return s.ends[index/sharedChunk][index%sharedChunk] }

func (s *shared) add(end uint32) {
	if s.count%sharedChunk == 0 {
		s.ends = append(s.ends, make([]uint32, 0, sharedChunk))
	}
	last := len(s.ends) - 1
	s.ends[last] = append(s.ends[last], end)
	s.count++
}

// readShared writes the shared texts of a part, if there is one, to the file from begin on.
func readShared(a archive, part string, file *Temporary, begin int64) (*shared, error) {
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
			return nil, fmt.Errorf("the workbook has more than %d different texts: split it, or save the sheet as CSV", maxShared)
		}
		n, err := s.writer.WriteString(unescape(item.text))
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
	text := make([]byte, s.end(index)-begin)
	_, err = s.file.ReadAt(text, s.begin+int64(begin))
	return string(text), err
}
