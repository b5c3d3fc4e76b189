package store

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"sync"
	"time"

	"contactbase/internal/loop"
)

// The pause between two attempts.
const (
	firstBackoff = 50 * time.Millisecond
	maxBackoff   = 2 * time.Second
)

// Retrying returns a store whose reads are retried with backoff until they succeed, the object does not exist, or
// ctx ends. Reading an object resumes after an interruption. Retrying calls failed with each error, from one
// goroutine at a time.
func Retrying(s Store, failed func(error)) Store {
	var mu sync.Mutex
	return &retrying{s, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		failed(err)
	}}
}

type retrying struct {
	Store
	failed func(error)
}

func (r *retrying) List(ctx context.Context, folder string) (objects []Object, err error) {
	err = r.repeat(ctx, func() error {
		objects, err = r.Store.List(ctx, folder)
		return err
	})
	return objects, err
}

func (r *retrying) Folders(ctx context.Context, folder string) (names []string, err error) {
	err = r.repeat(ctx, func() error {
		names, err = r.Store.Folders(ctx, folder)
		return err
	})
	return names, err
}

func (r *retrying) Read(ctx context.Context, name string) (content []byte, tag string, err error) {
	err = r.repeat(ctx, func() error {
		content, tag, err = r.Store.Read(ctx, name)
		return err
	})
	return content, tag, err
}

func (r *retrying) Get(ctx context.Context, name string, offset, size int64) (io.ReadCloser, error) {
	body := &resuming{retrying: r, ctx: ctx, name: name, offset: offset, size: size}
	return body, body.open()
}

// repeat calls do until it succeeds. The error is fs.ErrNotExist, or the cause of the end of ctx.
func (r *retrying) repeat(ctx context.Context, do func() error) error {
	for backoff := firstBackoff; ; backoff = min(2*backoff, maxBackoff) {
		err := do()
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if ctx.Err() == nil {
			r.failed(err)
		}
		if !loop.Pause(ctx, backoff) {
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// resuming reads an object, and resumes after an interruption.
type resuming struct {
	*retrying
	ctx    context.Context //nolint:containedctx // of the reader: io.Reader has none
	name   string
	offset int64 // of the next read
	size   int64 // number of bytes that are left; 0 for all
	body   io.ReadCloser
}

func (r *resuming) open() error {
	return r.repeat(r.ctx, func() (err error) {
		r.body, err = r.Store.Get(r.ctx, r.name, r.offset, r.size)
		return err
	})
}

func (r *resuming) Read(p []byte) (int, error) {
	for {
		n, err := r.body.Read(p)
		r.offset += int64(n)
		if r.size > 0 {
			r.size -= int64(n)
			if r.size == 0 && err == nil {
				err = io.EOF // 0 would mean all
			}
		}
		if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return n, err
		}
		if r.ctx.Err() != nil {
			return n, errors.Join(context.Cause(r.ctx), err)
		}
		r.failed(err)
		_ = r.body.Close() // it failed
		loop.Pause(r.ctx, firstBackoff)
		if err := r.open(); err != nil {
			r.body = io.NopCloser(errorReader{err})
			return n, err
		}
		if n > 0 {
			return n, nil
		}
	}
}

func (r *resuming) Close() error { return r.body.Close() }

// errorReader always fails.
type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) { return 0, r.err }
