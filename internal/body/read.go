package body

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"sync"

	"contactbase/internal/fault"
)

const (
	// maxDiscarded is how much of a body that is too large is still received, in bytes. If the connection closed while
	// the client is sending, the response would be lost.
	maxDiscarded = 32 << 20

	// The sizes of the parts in which a body arrives: what is not used of the last one is not counted.
	smallPart = 4 << 10
	largePart = 32 << 10
)

// reservedForm is what net/http adds to the memory that a form may take, in bytes.
const reservedForm = 10 << 20

// errTooLarge ends a body of more than its limit, until refuse receives the rest.
var errTooLarge = errors.New("the body is too large")

// Bytes returns the body once all of it has arrived, also to later calls. A large one waits for its turn to be decoded,
// which lasts until the request ends. The error is a *fault.Error if it has more than limit bytes, or cannot be taken
// now.
func (b *Body) Bytes(ctx context.Context, limit int64) ([]byte, error) {
	if b.joined == nil {
		if err := b.within(limit, b.collect); err != nil {
			return nil, err
		}
		if b.ledger != nil {
			end, err := b.ledger.AwaitDecoding(ctx, b.owner, b.size)
			if err != nil {
				return nil, err
			}
			b.ends = append(b.ends, end)
		}
		b.join()
	}
	if int64(len(b.joined)) > limit {
		return nil, tooLarge(limit)
	}
	return b.joined, nil
}

// Save writes the body to a file in the folder, and waits for the turn to read the file, which lasts until the request
// ends. The error is a *fault.Error as that of Bytes.
func (b *Body) Save(ctx context.Context, file io.Writer, folder string, limit int64) error {
	b.keeps, b.folder = inFile, folder
	err := b.within(limit, func() error {
		_, err := io.Copy(file, b)
		return err
	})
	if err != nil || b.ledger == nil {
		return err
	}
	return b.await(ctx, b.ledger.files, 1)
}

// ParseForm parses a multipart form. Its files go to temporary files. The error is a *fault.Error as that of
// Bytes, also if what is not files has more than fields bytes, or that of net/http.
func (b *Body) ParseForm(r *http.Request, fields, limit int64) error {
	b.keeps, b.folder = inFile, os.TempDir()
	r.Body = b // without PocketBase's copy: a form is parsed once
	err := b.within(limit, func() error { return r.ParseMultipartForm(fields - reservedForm) })
	if errors.Is(err, multipart.ErrMessageTooLarge) {
		const rule = "The form must have at most %d bytes in its fields, without the files, and at most 1,000 parts."
		return fault.New(fault.PayloadTooLarge, fmt.Sprintf(rule, fields))
	}
	return err
}

// within lets read receive at most limit bytes.
func (b *Body) within(limit int64, read func() error) error {
	if b.request.ContentLength > limit {
		return b.refuse(limit)
	}
	b.most = limit
	err := read()
	b.most = 0
	switch {
	case errors.Is(b.err, errTooLarge):
		b.err = nil
		return b.refuse(limit)
	case b.Err() != nil: // a decoder may have replaced it
		return b.Err()
	default:
		return err
	}
}

// AwaitDecoding waits for the turn of an owner to decode a stored body of this size in bytes, as a received one does.
// The caller ends the turn. The error is a *fault.Error if the body cannot be taken now.
func (l *Ledger) AwaitDecoding(ctx context.Context, owner Owner, size int) (end func(), err error) {
	if size <= smallBody {
		return func() {}, nil
	}
	return l.decoding.take(ctx, owner, min(int64(size), largeBody))
}

// await waits for a turn, which lasts until the request ends.
func (b *Body) await(ctx context.Context, turns *turns, weight int64) error {
	end, err := turns.take(ctx, b.owner, weight)
	if err == nil {
		b.ends = append(b.ends, end)
	}
	return err
}

// collect receives the body into parts, which need not be copied when it grows.
func (b *Body) collect() error {
	for {
		part := b.room()
		n, err := b.Read(part[len(part):cap(part)])
		isEnd := errors.Is(err, io.EOF)
		if err != nil && !isEnd {
			return err
		}
		b.parts[len(b.parts)-1] = part[:len(part)+n]
		b.size += n
		if isEnd {
			return nil
		}
	}
}

// room returns the last part, which has room for more.
func (b *Body) room() []byte {
	if last := len(b.parts) - 1; last >= 0 && len(b.parts[last]) < cap(b.parts[last]) {
		return b.parts[last]
	}
	b.parts = append(b.parts, b.newPart())
	return b.parts[len(b.parts)-1]
}

func (b *Body) newPart() []byte {
	if left := b.request.ContentLength - int64(b.size); left > 0 && left < smallPart {
		return make([]byte, 0, left)
	}
	if b.size < smallBody {
		return smallParts.Get().(*[smallPart]byte)[:0]
	}
	return largeParts.Get().(*[largePart]byte)[:0]
}

// Parts are used again: those of a flood would be garbage of many times what is under way.
var (
	smallParts = sync.Pool{New: func() any { return new([smallPart]byte) }}
	largeParts = sync.Pool{New: func() any { return new([largePart]byte) }}
)

// drop frees the parts.
func (b *Body) drop() {
	for _, part := range b.parts {
		switch cap(part) {
		case smallPart:
			smallParts.Put((*[smallPart]byte)(part[:smallPart]))
		case largePart:
			largeParts.Put((*[largePart]byte)(part[:largePart]))
		}
	}
	b.parts, b.size = nil, 0
}

func (b *Body) join() {
	if len(b.parts) == 1 { // it remains with those who read it
		b.joined, b.parts = b.parts[0], nil
		return
	}
	b.joined = make([]byte, 0, b.size)
	for _, part := range b.parts {
		b.joined = append(b.joined, part...)
	}
	b.drop()
}

// refuse receives the rest of a body that is too large, and keeps none of it.
func (b *Body) refuse(limit int64) error {
	b.drop()
	if b.ledger != nil {
		b.ledger.free(b)
		b.keeps = nowhere
	}
	if b.request.Header.Get("Expect") == "" || b.arrived > 0 {
		if _, err := io.CopyN(io.Discard, b, max(maxDiscarded, limit)); err != nil && !errors.Is(err, io.EOF) {
			return err
		}
	}
	return tooLarge(limit)
}

func tooLarge(limit int64) error {
	return fault.New(fault.PayloadTooLarge, fmt.Sprintf("The request body must have at most %d bytes.", limit))
}
