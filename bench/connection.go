package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	keyHeader    = "X-Api-Key"
	callPatience = 30 * time.Second
)

// connection sends requests one after the other. The sender writes the request and reads the answer, without the two
// goroutines that net/http has for each connection: waking them takes the processors that the servers share.
type connection struct {
	base   string      // such as http://127.0.0.1:8090
	header http.Header // of each request

	conn   net.Conn // nil until the first request
	reader *bufio.Reader
	buffer []byte
}

// exchange sends a request and reads the answer to its end.
func (c *connection) exchange(request call) error {
	if err := c.open(); err != nil {
		return err
	}
	err := c.send(request)
	if err != nil {
		c.close()
	}
	return err
}

func (c *connection) open() (err error) {
	if c.conn == nil {
		c.conn, err = net.DialTimeout("tcp", c.address(), callPatience) //nolint:noctx // a local address
		c.reader = bufio.NewReader(c.conn)
	}
	return err
}

func (c *connection) send(request call) error {
	if err := c.conn.SetDeadline(time.Now().Add(callPatience)); err != nil {
		return err
	}
	c.buffer = c.encode(c.buffer[:0], request)
	if _, err := c.conn.Write(c.buffer); err != nil {
		return err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode >= 300 {
		answer, _ := io.ReadAll(io.LimitReader(response.Body, 500))
		return fmt.Errorf("%s %s: %d %s", request.method, request.path, response.StatusCode, answer)
	}
	if response.Close {
		return errors.New("the server ended the connection")
	}
	_, err = io.Copy(io.Discard, response.Body)
	return err
}

// encode appends the request as it is sent.
func (c *connection) encode(b []byte, request call) []byte {
	line := func(parts ...string) {
		for _, part := range parts {
			b = append(b, part...)
		}
		b = append(b, "\r\n"...)
	}
	line(request.method, " ", request.path, " HTTP/1.1")
	line("Host: ", c.address())
	for name, values := range c.header {
		if request.key == "" || name != keyHeader {
			line(name, ": ", values[0])
		}
	}
	if request.key != "" {
		line(keyHeader, ": ", request.key)
	}
	if request.body != "" {
		line("Content-Type: application/json")
		line("Content-Length: ", strconv.Itoa(len(request.body)))
	}
	line()
	return append(b, request.body...)
}

func (c *connection) address() string { return strings.TrimPrefix(c.base, "http://") }

func (c *connection) close() {
	if c.conn != nil {
		c.conn.Close()
		c.conn = nil
	}
}
