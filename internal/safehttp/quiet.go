package safehttp

import (
	"bytes"
	"io"
)

// dropped has parts of the lines that net/http's client logs to the standard logger because of what servers send. Some are logged for every
// frame, and some quote it.
var dropped = [][]byte{
	[]byte("Unsolicited response received on idle HTTP channel"),
	[]byte("Transport: unhandled response frame type"),
	[]byte("protocol error: received "),
	[]byte("http2: Transport received unsolicited DATA frame"),
}

// Quiet returns a writer for the standard logger (log.SetOutput) that drops the lines that servers can cause in net/http's client. The client
// always uses that logger, so nothing but the text of a line distinguishes them.
func Quiet(to io.Writer) io.Writer { return quiet{to} }

type quiet struct{ to io.Writer }

// Write implements io.Writer. The standard logger calls it once for each line.
func (q quiet) Write(line []byte) (int, error) {
	for _, part := range dropped {
		if bytes.Contains(line, part) {
			return len(line), nil
		}
	}
	return q.to.Write(line)
}
