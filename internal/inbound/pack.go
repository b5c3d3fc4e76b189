package inbound

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"io"
	"strings"
	"sync"

	"contactbase/internal/inbound/payload"
	"contactbase/internal/wire"
)

const (
	// maxPacked is how much a stored body takes at most, in bytes.
	maxPacked = 1 << 20
	// minPacked is the size from which a body is compressed, in bytes: in smaller ones an admin can search.
	minPacked = 1 << 10

	// A stored body is text unless it begins with one of these, with which no UTF-8 begins.
	compressed = "\x1f\x8b" // gzip
	notKept    = "\xff"     // before a text about a body that is too large
)

var writers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	return w
}}

// pack returns a body as it is stored: as text, or compressed in bytes. The sender may name the address with the token,
// which is no part of it.
func pack(sent payload.Kept, token string) any {
	clean := func(text string) string {
		text = strings.ToValidUTF8(text, "\uFFFD")
		if token != "" {
			text = strings.ReplaceAll(text, token, "[redacted]")
		}
		return text
	}
	text := clean(string(sent.Body))
	if len(text) < minPacked {
		return text
	}
	var packed bytes.Buffer
	w := writers.Get().(*gzip.Writer)
	defer writers.Put(w)
	w.Reset(&packed)
	_, err := io.WriteString(w, text)
	if err == nil {
		err = w.Close()
	}
	if err != nil || packed.Len() > maxPacked || len(text) > payload.MaxBody {
		about, _ := wire.AppendJSON(nil, map[string]any{"note": "too large to keep", "names": sent.Names})
		return []byte(notKept + clean(string(about)))
	}
	return packed.Bytes()
}

// textSize returns how many bytes a stored body has as text, at most limit. A compressed one notes it at its end
// (RFC 1952, 2.3.1).
func textSize(stored string, limit int) int {
	if end := len(stored) - 4; end > 0 && strings.HasPrefix(stored, compressed) {
		return int(min(int64(binary.LittleEndian.Uint32([]byte(stored[end:]))), int64(limit)))
	}
	return min(len(stored), limit)
}

// BodyText returns a stored body as text of at most limit bytes, and whether it is the whole body, not a part of it or
// a text about it.
func BodyText(stored string, limit int) (text string, isBody bool) {
	if about, ok := strings.CutPrefix(stored, notKept); ok {
		return about, false
	}
	if !strings.HasPrefix(stored, compressed) {
		return stored, true
	}
	r, err := gzip.NewReader(strings.NewReader(stored))
	if err != nil {
		return "", false
	}
	plain, err := io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if err != nil {
		return "", false
	}
	if len(plain) > limit {
		return strings.ToValidUTF8(string(plain[:limit]), "") + "…", false
	}
	return string(plain), true
}
