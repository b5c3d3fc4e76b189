package main

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

// receiver takes deliveries with as little work as HTTP/1.1 allows: what is measured is the sender. Each has a port, and
// so the sender has connections, of its own.
type receiver struct {
	URL      string
	listener net.Listener
	take     func(body []byte, at time.Time) // of each delivery; may be called at once by several
	answer   func(net.Conn) error

	mu          sync.Mutex
	connections map[net.Conn]bool
}

// The ways to answer.
func atOnce(c net.Conn) error {
	_, err := c.Write([]byte("HTTP/1.1 204 No Content\r\n\r\n"))
	return err
}

// never keeps the request until the sender has had enough.
func never(c net.Conn) error {
	_, err := io.Copy(io.Discard, c)
	return err
}

// drip answers with a byte a second.
func drip(c net.Conn) error {
	_, err := c.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"))
	for err == nil {
		time.Sleep(time.Second)
		_, err = c.Write([]byte("."))
	}
	return err
}

// after answers when that time has passed.
func after(wait time.Duration) func(net.Conn) error {
	return func(c net.Conn) error {
		time.Sleep(wait)
		return atOnce(c)
	}
}

// andClose answers at once and ends the connection.
func andClose(c net.Conn) error {
	if _, err := c.Write([]byte("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")); err != nil {
		return err
	}
	return io.EOF
}

func newReceiver(answer func(net.Conn) error, take func(body []byte, at time.Time)) (*receiver, error) {
	return newSecureReceiver(nil, answer, take)
}

// newSecureReceiver returns a receiver behind TLS; without a configuration it speaks HTTP.
func newSecureReceiver(config *tls.Config, answer func(net.Conn) error, take func(body []byte, at time.Time)) (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local address
	if err != nil {
		return nil, err
	}
	scheme := "http://"
	if config != nil {
		scheme, listener = "https://", tls.NewListener(listener, config)
	}
	r := &receiver{URL: scheme + listener.Addr().String() + "/hook", listener: listener, take: take, answer: answer, connections: map[net.Conn]bool{}}
	go r.accept()
	return r, nil
}

func (r *receiver) accept() {
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

func (r *receiver) serve(c net.Conn) error {
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

// close ends all connections.
func (r *receiver) close() {
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.connections {
		c.Close()
	}
}

// text returns the string behind the key in a JSON body; it is what costs least.
func text(body []byte, key string) string {
	_, rest, found := bytes.Cut(body, []byte(`"`+key+`":"`))
	if !found {
		return ""
	}
	value, _, _ := bytes.Cut(rest, []byte(`"`))
	return string(value)
}
