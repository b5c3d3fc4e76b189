package delivery_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// hostileHTTP2 are receivers that speak HTTP/2, in frames.
var hostileHTTP2 = []hostileCase{
	{"no preface of its own", hold, 0, timeout, "no complete response"},
	{"HTTP/1.1", says("HTTP/1.1 200 OK\r\n\r\n", hold), 0, network, ""},
	{"closed at once", func(net.Conn) {}, 0, network, ""},
	{"never answered", frames(func(*stream) {}), 0, timeout, "no complete response"},
	{"GOAWAY at once", frames(func(s *stream) { _ = s.WriteGoAway(0, http2.ErrCodeNo, nil) }), 0, timeout, "no complete response"},
	{"GOAWAY in anger", frames(func(s *stream) { _ = s.WriteGoAway(s.id, http2.ErrCodeEnhanceYourCalm, nil) }), 0, timeout, "no complete response"},
	{"RST_STREAM", frames(func(s *stream) { _ = s.WriteRSTStream(s.id, http2.ErrCodeInternal) }), 0, network, "INTERNAL_ERROR"},
	{"RST_STREAM, try again", frames(func(s *stream) { _ = s.WriteRSTStream(s.id, http2.ErrCodeRefusedStream) }), 0, timeout, "no complete response"},

	// floods
	{"SETTINGS for ever", floods(hold, func(s *stream) {
		_ = s.WriteSettings(http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 100})
	}), 0, network, "too much data"},
	{"PING for ever", floods(hold, func(s *stream) { _ = s.WritePing(false, [8]byte{}) }), 0, network, "too much data"},
	{"WINDOW_UPDATE for ever", floods(hold, func(s *stream) { _ = s.WriteWindowUpdate(1, 1) }), 0, network, "too much data"},
	{"PRIORITY for ever", floods(hold, func(s *stream) { _ = s.WritePriority(s.id, http2.PriorityParam{}) }), 0, network, "too much data"},
	{"unknown frames for ever", floods(hold, func(s *stream) { _ = s.WriteRawFrame(0xfe, 0, 0, make([]byte, 1024)) }), 0, network, "too much data"},
	{"empty DATA for ever", floods(hold, func(s *stream) {
		s.header(false, ":status", "200")
		s.send()
		_ = s.WriteData(s.id, false, nil)
	}), 200, network, "too much data"},
	{"CONTINUATION for ever", floods(hold, func(s *stream) {
		_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: s.id, BlockFragment: s.block(":status", "200")})
		s.send()
		_ = s.WriteContinuation(s.id, false, s.block("x", strings.Repeat("x", 1024)))
	}), 0, network, ""},
	{"103 for ever", floods(hold, func(s *stream) { s.header(false, ":status", "103", "link", "</a>") }), 0, network, "header list too large"},

	// headers and windows
	{"101", frames(func(s *stream) { s.header(false, ":status", "101") }), 0, timeout, "no complete response"},
	{"no status", frames(func(s *stream) { s.header(true, "x", "x") }), 0, network, ""},
	{"status 000", frames(func(s *stream) { s.header(true, ":status", "000") }), 0, network, ""},
	{"a header without END_HEADERS", frames(func(s *stream) {
		_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: s.id, BlockFragment: s.block(":status", "200")})
	}), 0, timeout, "no complete response"},
	{"a header without END_STREAM", frames(func(s *stream) { s.header(false, ":status", "200") }), 200, timeout, "no complete response"},
	{"a header that is too large", frames(func(s *stream) {
		s.header(true, ":status", "200", "x", strings.Repeat("x", 15<<10), "y", strings.Repeat("y", 15<<10)+strings.Repeat("z", 3<<10))
	}), 0, network, ""},
	{"WINDOW_UPDATE of nothing", frames(func(s *stream) {
		_ = s.WriteRawFrame(http2.FrameWindowUpdate, 0, 0, make([]byte, 4))
	}), 0, network, ""},
	{"no window", func(conn net.Conn) {
		accept(conn, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		hold(conn)
	}, 0, timeout, "no complete response"},
	{"PUSH_PROMISE", frames(func(s *stream) {
		_ = s.WritePushPromise(http2.PushPromiseParam{StreamID: s.id, PromiseID: 2, BlockFragment: s.block(":method", "GET"), EndHeaders: true})
	}), 0, network, ""},

	// bodies
	{"a body without end", frames(func(s *stream) {
		s.header(false, ":status", "200")
		for range 4 { // all that the window takes
			_ = s.WriteData(s.id, false, make([]byte, 16<<10))
		}
	}), 200, none, ""},
	{"less than was promised", frames(func(s *stream) {
		s.header(false, ":status", "200", "content-length", "100")
		_ = s.WriteData(s.id, true, []byte("half"))
	}), 200, network, ""},
	{"more than was promised", frames(func(s *stream) {
		s.header(false, ":status", "200", "content-length", "2")
		_ = s.WriteData(s.id, true, []byte("more"))
	}), 200, network, ""},
}

// hostileDeaf are receivers that speak HTTP/2 and read none of the answers to their frames.
var hostileDeaf = []hostileCase{
	{"SETTINGS for ever", floods(deaf, func(s *stream) { _ = s.WriteSettings() }), 0, network, ""},
	{"PING for ever", floods(deaf, func(s *stream) { _ = s.WritePing(false, [8]byte{}) }), 0, network, ""},
}

// stream is a request over HTTP/2 as its receiver sees it. What its Framer writes goes out with send.
type stream struct {
	*http2.Framer
	conn net.Conn
	out  bytes.Buffer
	id   uint32
}

// accept greets the sender and reads up to a request's headers. It returns nil where there is none.
func accept(conn net.Conn, settings ...http2.Setting) *stream {
	s := &stream{conn: conn}
	s.Framer = http2.NewFramer(&s.out, conn)
	s.AllowIllegalWrites = true
	if _, err := io.ReadFull(conn, make([]byte, len(http2.ClientPreface))); err != nil {
		return nil
	}
	_ = s.WriteSettings(settings...)
	s.send()
	for {
		frame, err := s.ReadFrame()
		if err != nil {
			return nil
		}
		if frame.Header().Type == http2.FrameHeaders {
			s.id = frame.Header().StreamID
			return s
		}
	}
}

// send sends what was written.
func (s *stream) send() { _, _ = s.out.WriteTo(s.conn) }

// block encodes a header, names and values in turns.
func (s *stream) block(header ...string) []byte {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for i := 0; i+1 < len(header); i += 2 {
		_ = encoder.WriteField(hpack.HeaderField{Name: header[i], Value: header[i+1], Sensitive: true})
	}
	return block.Bytes()
}

// header writes a whole header.
func (s *stream) header(end bool, header ...string) {
	_ = s.WriteHeaders(http2.HeadersFrameParam{StreamID: s.id, BlockFragment: s.block(header...), EndHeaders: true, EndStream: end})
}

// frames makes a behaviour out of the frames that answer a request.
func frames(answer func(*stream)) func(net.Conn) {
	return func(conn net.Conn) {
		if s := accept(conn); s != nil {
			answer(s)
			s.send()
			hold(conn)
		}
	}
}

// floods makes a behaviour out of the frames that answer a request again and again, beside what is done with those that
// come.
func floods(beside func(net.Conn), answer func(*stream)) func(net.Conn) {
	return func(conn net.Conn) {
		s := accept(conn)
		if s == nil {
			return
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			beside(conn)
		}()
		answer(s)
		forever(conn, s.out.String())
		<-done
	}
}

// deaf reads nothing.
func deaf(net.Conn) {}

// invites lets the sender send as much as it likes, reads nothing of it, and sends a PING now and then, which fails
// when the sender has closed the connection.
func invites(conn net.Conn) {
	const most = 1<<31 - 1
	if s := accept(conn, http2.Setting{ID: http2.SettingInitialWindowSize, Val: most}); s != nil {
		_ = s.WriteWindowUpdate(0, most-65535)
		s.send()
		_ = s.WritePing(false, [8]byte{})
		drip(conn, s.out.String())
	}
}

// bomb returns a megabyte of zeros, compressed.
func bomb() string {
	var compressed bytes.Buffer
	writer := gzip.NewWriter(&compressed)
	_, _ = writer.Write(make([]byte, 1<<20))
	_ = writer.Close()
	return compressed.String()
}
