package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const requestTimeout = 30 * time.Second

// call is an HTTP request.
type call struct {
	method, path, body string
	auth               string // a header such as "X-Api-Key: …", or ""
}

// answer is valid until the next request on its connection.
type answer struct {
	header http.Header
	body   []byte
}

// connection sends requests one after the other. The goroutine that sends a request also reads its answer. net/http
// would wake two other goroutines for that, which costs processor time that the server needs.
type connection struct {
	base   string   // such as http://127.0.0.1:8090
	conn   net.Conn // nil until the first request
	reader *bufio.Reader
	buffer []byte
	body   bytes.Buffer
}

// exchange sends a request and reads the answer to its end. Any status but a 2xx is an error.
func (c *connection) exchange(request call) (answer, error) {
	if c.conn == nil {
		conn, err := net.DialTimeout("tcp", c.address(), requestTimeout)
		if err != nil {
			return answer{}, err
		}
		c.conn, c.reader = conn, bufio.NewReader(conn)
	}
	got, err := c.send(request)
	if err != nil {
		c.close()
	}
	return got, err
}

func (c *connection) send(request call) (answer, error) {
	if err := c.conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
		return answer{}, err
	}
	c.buffer = c.encode(c.buffer[:0], request)
	if _, err := c.conn.Write(c.buffer); err != nil {
		return answer{}, err
	}
	response, err := http.ReadResponse(c.reader, nil)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	c.body.Reset()
	if _, err := c.body.ReadFrom(response.Body); err != nil {
		return answer{}, err
	}
	if response.StatusCode >= 300 {
		return answer{}, fmt.Errorf("%s %s: %d %.500s", request.method, request.path, response.StatusCode, c.body.Bytes())
	}
	if response.Close {
		return answer{}, errors.New("the server closed the connection")
	}
	return answer{response.Header, c.body.Bytes()}, nil
}

// encode appends the request in its form on the wire.
func (c *connection) encode(b []byte, request call) []byte {
	line := func(parts ...string) {
		for _, part := range parts {
			b = append(b, part...)
		}
		b = append(b, "\r\n"...)
	}
	line(request.method, " ", request.path, " HTTP/1.1")
	line("Host: ", c.address())
	if request.auth != "" {
		line(request.auth)
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
