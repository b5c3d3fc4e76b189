// Package receiver is where the deliveries of the benchmarks go.
package receiver

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// Receiver takes deliveries with as little work as HTTP/1.1 allows: what is measured is the sender. Each has a port, and
// so the sender has connections, of its own.
type Receiver struct {
	URL      string
	listener net.Listener
	take     func(body []byte, at time.Time) // may be called at once by several
	answer   func(net.Conn) error

	mu          sync.Mutex
	connections map[net.Conn]bool
}

// AtOnce answers as soon as the request is there.
func AtOnce(c net.Conn) error {
	_, err := c.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n"))
	return err
}

// Never keeps the request until the sender has had enough.
func Never(c net.Conn) error {
	_, err := io.Copy(io.Discard, c)
	return err
}

// Drip answers with a byte a second.
func Drip(c net.Conn) error {
	_, err := c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"))
	for err == nil {
		time.Sleep(time.Second)
		_, err = c.Write([]byte("."))
	}
	return err
}

// After answers when that time has passed.
func After(wait time.Duration) func(net.Conn) error {
	return func(c net.Conn) error {
		time.Sleep(wait)
		return AtOnce(c)
	}
}

// AndClose answers at once and ends the connection.
func AndClose(c net.Conn) error {
	if _, err := c.Write([]byte("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")); err != nil {
		return err
	}
	return io.EOF
}

// New returns a receiver that answers in that way. It calls take, which may be nil, with each body.
func New(answer func(net.Conn) error, take func(body []byte, at time.Time)) (*Receiver, error) {
	return NewSecure(nil, answer, take)
}

// NewSecure returns a receiver behind TLS; without a configuration it speaks HTTP.
func NewSecure(config *tls.Config, answer func(net.Conn) error, take func(body []byte, at time.Time)) (*Receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local address
	if err != nil {
		return nil, err
	}
	scheme := "http://"
	if config != nil {
		scheme, listener = "https://", tls.NewListener(listener, config)
	}
	r := &Receiver{URL: scheme + listener.Addr().String() + "/hook", listener: listener, take: take, answer: answer, connections: map[net.Conn]bool{}}
	go r.accept()
	return r, nil
}

func (r *Receiver) accept() {
	for {
		c, err := r.listener.Accept()
		if err != nil {
			return
		}
		r.mu.Lock()
		r.connections[c] = true
		r.mu.Unlock()
		go func() {
			_ = r.serve(c) // a connection ends when the sender ends it
			c.Close()
			r.mu.Lock()
			delete(r.connections, c)
			r.mu.Unlock()
		}()
	}
}

func (r *Receiver) serve(c net.Conn) error {
	reader := bufio.NewReaderSize(c, 4096)
	var body []byte
	for {
		size := 0
		for {
			line, err := reader.ReadSlice('\n')
			if err != nil {
				return err
			}
			if len(line) <= 2 {
				break
			}
			if value, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
				if size, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
					return err
				}
			}
		}
		if cap(body) < size {
			body = make([]byte, size)
		}
		body = body[:size]
		if _, err := io.ReadFull(reader, body); err != nil {
			return err
		}
		if r.take != nil {
			r.take(body, time.Now())
		}
		if err := r.answer(c); err != nil {
			return err
		}
	}
}

// Close ends all connections.
func (r *Receiver) Close() {
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.connections {
		c.Close()
	}
}

// Text returns the string behind the key in a JSON body; it is what costs least.
func Text(body []byte, key string) string {
	_, rest, found := bytes.Cut(body, []byte(`"`+key+`":"`))
	if !found {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}
