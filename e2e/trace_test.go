package e2e

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// tracedCalls are the system calls that change files or send data.
const tracedCalls = "open,openat,creat,unlink,unlinkat,rename,renameat,renameat2,write,writev,pwrite64,pwritev,fsync,fdatasync,ftruncate,fallocate"

// call is a system call as strace prints it: `12 pwrite64(5<\x2f…>, "\x00…", 4096, 0) = 4096`.
type call struct {
	name  string
	path  string // of the file or of what a descriptor stands for
	data  []byte // of a write
	flags string // of an open
	args  []int64
	begun int // the number of the line on which it begins
	over  int // and of the one on which it ends
}

// readTrace reads the output of `strace -f -y -xx`, and returns the calls that succeeded, in the order in
// which they ended.
func readTrace(path string) ([]*call, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	reader := bufio.NewReaderSize(file, 1<<20)
	open := map[string]*call{} // by thread, the calls that others came in between of
	heads := map[string]string{}
	var calls []*call
	for number := 0; ; number++ {
		line, err := reader.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return calls, nil
		}
		if err != nil {
			return nil, err
		}
		thread, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		text = strings.TrimLeft(text, " ")
		c := &call{begun: number, over: number}
		if rest, resumed := strings.CutPrefix(text, "<... "); resumed {
			if c = open[thread]; c == nil {
				return nil, fmt.Errorf("line %d resumes a call that did not begin", number)
			}
			_, rest, _ = strings.Cut(rest, " resumed>")
			c.over, text = number, heads[thread]+rest
		} else if head, cut := strings.CutSuffix(text, " <unfinished ...>"); cut {
			open[thread], heads[thread] = c, head
			continue
		} else if strings.HasPrefix(text, "+++ ") || strings.HasPrefix(text, "--- ") {
			continue // the end of a thread, or a signal
		}
		ok, err := c.parse(text)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		if ok {
			calls = append(calls, c)
		}
	}
}

// parse parses a call. It returns false if the call failed.
func (c *call) parse(text string) (ok bool, err error) {
	name, arguments, _ := strings.Cut(text, "(")
	end := strings.LastIndex(arguments, ") ")
	if end < 0 {
		return false, fmt.Errorf("%.200s is no call", text)
	}
	result := strings.TrimLeft(arguments[end+1:], " ")
	if strings.HasPrefix(result, "= -1") || strings.HasPrefix(result, "= ?") {
		return false, nil
	}
	c.name, arguments = name, arguments[:end]
	// the first argument is a descriptor with its path; otherwise the first string is a path
	if first, _, _ := strings.Cut(arguments, ","); strings.HasSuffix(first, ">") {
		c.path = string(unescape(first[strings.IndexByte(first, '<')+1 : len(first)-1]))
	}
	before, text, quoted := strings.Cut(arguments, `"`)
	if !quoted {
		if name == "ftruncate" {
			c.args = numbers(before)
		}
		return true, nil
	}
	text, after, _ := strings.Cut(text, `"`)
	if strings.HasPrefix(after, "...") {
		return false, fmt.Errorf("%s is cut short: %.200s", name, arguments)
	}
	data := unescape(text)
	switch name {
	case "write", "pwrite64":
		c.data, c.args = data, numbers(after)
	default:
		c.flags = after
		if name := string(data); filepath.IsAbs(name) {
			c.path = name
		} else {
			c.path = filepath.Join(c.path, name)
		}
	}
	return true, nil
}

// numbers returns the arguments that are decimal numbers.
func numbers(arguments string) []int64 {
	var found []int64
	for field := range strings.SplitSeq(arguments, ", ") {
		if number, err := strconv.ParseInt(field, 10, 64); err == nil {
			found = append(found, number)
		}
	}
	return found
}

// unescape decodes a string in which each byte is written as \x00.
func unescape(text string) []byte {
	digits := make([]byte, 0, len(text)/2)
	for n := 2; n+1 < len(text); n += 4 {
		digits = append(digits, text[n], text[n+1])
	}
	data := make([]byte, len(digits)/2)
	if _, err := hex.Decode(data, digits); err != nil {
		panic(fmt.Sprintf("%v: %.200s", err, text)) // strace writes nothing else
	}
	return data
}

// change is a write to a file, or a truncation if it has no data.
type change struct {
	offset int64
	data   []byte
	over   int // the line on which the call ended
}

// tracedFile is a file on a disk that loses unsynced writes.
type tracedFile struct {
	durable []byte // as of the last sync
	pending []change
	named   bool // whether its name in the folder is durable, too
}

// disk follows the files of a directory through a trace.
type disk struct {
	folder string
	files  map[string]*tracedFile // by name
	syncs  map[string]int
}

// newDisk starts with the current directory, in which everything is durable.
func newDisk(folder string) (*disk, error) {
	d := &disk{folder: folder, files: map[string]*tracedFile{}, syncs: map[string]int{}}
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		if !entry.Type().IsRegular() || strings.HasSuffix(entry.Name(), "-shm") {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return nil, err
		}
		d.files[entry.Name()] = &tracedFile{durable: content, named: true}
	}
	return d, nil
}

// apply applies a call. A write is durable once a sync that started after it has ended.
func (d *disk) apply(c *call) error {
	name, inside := strings.CutPrefix(c.path, d.folder+"/")
	if c.path == d.folder && (c.name == "fsync" || c.name == "fdatasync") {
		for _, file := range d.files {
			file.named = true
		}
		return nil
	}
	if !inside || strings.Contains(name, "/") || strings.HasSuffix(name, "-shm") { // the latter is created again
		return nil
	}
	if strings.HasPrefix(name, ".contactbase.served") { // each start writes it, and commands ignore a broken one
		return nil
	}
	file := d.files[name]
	switch c.name {
	case "open", "openat":
		if file == nil && strings.Contains(c.flags, "O_CREAT") {
			d.files[name] = &tracedFile{}
		}
		if strings.Contains(c.flags, "O_TRUNC") && len(file.durable) > 0 {
			return fmt.Errorf("%s is emptied when it is opened", name)
		}
		return nil
	case "pwrite64":
		file.pending = append(file.pending, change{c.args[1], c.data, c.over})
		return nil
	case "ftruncate":
		file.pending = append(file.pending, change{c.args[0], nil, c.over})
		return nil
	case "fsync", "fdatasync":
		d.syncs[name]++
		rest := file.pending[:0]
		for _, change := range file.pending {
			if change.over < c.begun {
				file.durable = change.on(file.durable)
			} else {
				rest = append(rest, change)
			}
		}
		file.pending = rest
		return nil
	default:
		return fmt.Errorf("%s of %s is not expected while the server runs", c.name, name)
	}
}

// on returns the content after the change.
func (c change) on(content []byte) []byte {
	if c.data == nil {
		if int64(len(content)) > c.offset {
			return content[:c.offset:c.offset]
		}
		return append(content, make([]byte, c.offset-int64(len(content)))...)
	}
	if missing := c.offset + int64(len(c.data)) - int64(len(content)); missing > 0 {
		content = append(content, make([]byte, missing)...)
	}
	copy(content[c.offset:], c.data)
	return content
}

// fate decides about a change that was not synced: it returns the parts that reached the disk.
type fate func(change) []change

// rebuild writes the directory that a power cut leaves.
func (d *disk) rebuild(folder string, decide fate) error {
	for name, file := range d.files {
		content := bytes.Clone(file.durable)
		kept := file.named
		for _, pending := range file.pending {
			for _, part := range decide(pending) {
				content = part.on(content)
				kept = true
			}
		}
		if !kept {
			continue
		}
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	return nil
}
