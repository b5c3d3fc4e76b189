package safehttp

import (
	"bytes"
	"io"
)

// chatter is what net/http's client tells the standard logger about what servers do, in parts of lines. Some of it comes
// with every frame that a server sends, some repeats what it sent.
var chatter = [][]byte{
	[]byte("Unsolicited response received on idle HTTP channel"),
	[]byte("Transport: unhandled response frame type"),
	[]byte("protocol error: received "),
	[]byte("http2: Transport received unsolicited DATA frame"),
}

// Quiet returns a writer for the standard logger (log.SetOutput) that leaves out what servers make net/http's client say:
// there is no other way to keep them from filling the log.
func Quiet(to io.Writer) io.Writer { return quiet{to} }

type quiet struct{ to io.Writer }

// Write implements io.Writer. The standard logger calls it once for each line.
func (q quiet) Write(line []byte) (int, error) {
	for _, part := range chatter {
		if bytes.Contains(line, part) {
			return len(line), nil
		}
	}
	return q.to.Write(line)
}
