// Package receiver receives the deliveries of the benchmarks.
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

// Receiver receives deliveries with as little work as HTTP/1.1 allows, because the benchmarks measure the sender.
// Each receiver has its own port, so that the sender needs its own connections to it.
type Receiver struct {
	URL      string
	listener net.Listener
	take     func(body []byte, at time.Time) // for concurrent use
	answer   func(net.Conn) error

	mu          sync.Mutex
	connections map[net.Conn]bool
}

// AtOnce answers each request immediately.
func AtOnce(c net.Conn) error {
	_, err := c.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n"))
	return err
}

// Never does not answer: the sender ends the connection.
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

// After answers after a delay.
func After(wait time.Duration) func(net.Conn) error {
	return func(c net.Conn) error {
		time.Sleep(wait)
		return AtOnce(c)
	}
}

// AndClose answers immediately and closes the connection.
func AndClose(c net.Conn) error {
	if _, err := c.Write([]byte("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")); err != nil {
		return err
	}
	return io.EOF
}

// New returns a receiver that answers in the given way, over TLS if config is not nil. It calls take, which may be
// nil, with each body.
func New(config *tls.Config, answer func(net.Conn) error, take func(body []byte, at time.Time)) (*Receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local address
	if err != nil {
		return nil, err
	}
	scheme := "http://"
	if config != nil {
		scheme, listener = "https://", tls.NewListener(listener, config)
	}
	r := &Receiver{
		URL: scheme + listener.Addr().String() + "/hook", listener: listener,
		take: take, answer: answer, connections: map[net.Conn]bool{},
	}
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
			_ = r.serve(c) // the sender ends the connection
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
		size, err := readHeader(reader)
		if err != nil {
			return err
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

// readHeader reads to the end of a request's header and returns the size of its body.
func readHeader(reader *bufio.Reader) (size int, err error) {
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			return size, nil
		}
		if value, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if size, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
}

// Close closes all connections.
func (r *Receiver) Close() {
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.connections {
		c.Close()
	}
}

// Text returns the string behind the key in a JSON body, without decoding the body.
func Text(body []byte, key string) string {
	_, rest, found := bytes.Cut(body, []byte(`"`+key+`":"`))
	if !found {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}
