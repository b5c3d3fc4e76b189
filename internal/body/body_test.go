package body

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"contactbase/internal/fault"
)

// newBody returns a body that has a connection without deadlines.
func newBody(l *Ledger, owner Owner, content io.Reader, announced int64) *Body {
	request := httptest.NewRequest(http.MethodPost, "/", nil)
	request.ContentLength = announced
	w := httptest.NewRecorder()
	return &Body{ledger: l, raw: io.NopCloser(content), request: request, writer: w, control: http.NewResponseController(w), owner: owner}
}

func codeOf(err error) fault.Code {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return f.Code
	}
	return ""
}

// tiny has 100 bytes of memory and 400 of files for each owner.
var tiny = Limits{Memory: 400, Files: 1600, Shares: 4, Silence: time.Hour, Grace: time.Hour, Rate: 1, Turn: time.Hour}

// receive reads n bytes of a body that does not end there.
func receive(b *Body, n int) error {
	_, err := io.ReadFull(b, make([]byte, n))
	return err
}

// What has arrived counts until the request has ended, for its owner and for all. What is announced does not count.
func TestArrivedBytesCount(t *testing.T) {
	t.Parallel()
	ledger := NewLedger(tiny)
	open := func(owner string) *Body {
		return newBody(ledger, Tenant(owner), strings.NewReader(strings.Repeat("a", 1000)), 1<<40)
	}
	expect := func(b *Body, bytes int, want fault.Code) {
		t.Helper()
		if err := receive(b, bytes); codeOf(err) != want || want == "" && err != nil {
			t.Errorf("%d bytes of %v give %v, want %q", bytes, b.owner, err, want)
		}
	}
	first, second := open("a"), open("a")
	expect(first, 90, "")
	expect(second, 10, "")
	expect(second, 1, fault.RateLimited)
	if second.writer.Header().Get("Connection") != "close" {
		t.Error("the connection stays open")
	}
	expect(first, 10, "") // what was refused is free at once
	second.end()
	first.end()
	var all []*Body
	for _, owner := range []string{"a", "b", "c", "d"} {
		b := open(owner)
		expect(b, 100, "")
		all = append(all, b)
	}
	stranger := open("e")
	expect(stranger, 1, fault.RateLimited)
	for _, b := range append(all, stranger) {
		b.end()
	}
	if ledger.all != (held{}) || len(ledger.owners) != 0 {
		t.Errorf("in the end there are %v of %v", ledger.all, ledger.owners)
	}
}

// Files count apart from memory, and leave space on their disk.
func TestFilesCount(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		minFree uint64
		size    int
		want    fault.Code
	}{
		"fits":      {1, 400, ""},
		"too large": {1, 401, fault.RateLimited},
		"full disk": {1 << 62, 1, fault.RateLimited},
	} {
		limits := tiny
		limits.MinFree = tc.minFree
		b := newBody(NewLedger(limits), Tenant("a"), strings.NewReader(strings.Repeat("a", tc.size)), -1)
		var file bytes.Buffer
		err := b.Save(t.Context(), &file, t.TempDir(), 1000)
		if codeOf(err) != tc.want || tc.want == "" && (err != nil || file.Len() != tc.size) {
			t.Errorf("%s: got %v and %d bytes", name, err, file.Len())
		}
		b.end()
	}
}

// All that is read of a body is its bytes, in one piece, as often as it is read.
func TestBytes(t *testing.T) {
	t.Parallel()
	for _, size := range []int{0, 1, smallPart - 1, smallPart, smallPart + 1, smallBody, smallBody + 1, 1<<20 + 7} {
		content := bytes.Repeat([]byte("contacts"), size/8+1)[:size]
		for _, announced := range []int64{-1, int64(size)} {
			b := newBody(NewLedger(DefaultLimits), Tenant("a"), bytes.NewReader(content), announced)
			for range 2 {
				if raw, err := b.Bytes(t.Context(), int64(size)); err != nil || !bytes.Equal(raw, content) {
					t.Errorf("%d bytes (%d announced): got %d, %v", size, announced, len(raw), err)
				}
			}
			for range 2 { // as PocketBase does
				if raw, err := io.ReadAll(b); err != nil || !bytes.Equal(raw, content) {
					t.Errorf("%d bytes: read %d again, %v", size, len(raw), err)
				}
			}
			if size > 1 {
				small := newBody(NewLedger(DefaultLimits), Tenant("a"), bytes.NewReader(content), announced)
				if _, err := small.Bytes(t.Context(), int64(size-1)); codeOf(err) != fault.PayloadTooLarge || small.size != 0 {
					t.Errorf("a limit of %d bytes gives %v", size-1, err)
				}
			}
			b.end()
		}
	}
}

// The files of a form are on the disk only, and its other fields have a limit.
func TestParseForm(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		field, file, parts int
		want               fault.Code
	}{
		{10 << 10, 100 << 10, 0, ""},
		{64 << 10, 10, 0, fault.PayloadTooLarge},
		{10, 300 << 10, 0, fault.PayloadTooLarge},
		{10, 10, 1000, fault.PayloadTooLarge},
	} {
		var form bytes.Buffer
		w := multipart.NewWriter(&form)
		part, _ := w.CreateFormFile("file", "a.txt")
		_, _ = part.Write(make([]byte, tc.file))
		_ = w.WriteField("x", strings.Repeat("a", tc.field))
		for range tc.parts {
			_ = w.WriteField("", "")
		}
		_ = w.Close()
		b := newBody(NewLedger(DefaultLimits), Tenant("a"), &form, -1)
		b.request.Header.Set("Content-Type", w.FormDataContentType())
		err := b.ParseForm(b.request, 64<<10, 256<<10)
		if codeOf(err) != tc.want || tc.want == "" && err != nil {
			t.Errorf("%+v gives %v", tc, err)
		}
		if tc.want != "" {
			continue
		}
		file, err := b.request.MultipartForm.File["file"][0].Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, onDisk := file.(*os.File); !onDisk || b.counted.memory != 0 || b.counted.files < int64(tc.file) {
			t.Errorf("the file is a %T, and counts as %v", file, b.counted)
		}
		_ = file.Close()
		_ = b.request.MultipartForm.RemoveAll()
	}
}

// serve answers with what it reads of bodies, and their error's code.
func serve(t *testing.T, limits Limits, after func(*http.Request)) *httptest.Server {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := Of(r).Bytes(r.Context(), 1<<20)
		if after != nil {
			after(r)
		}
		if err != nil {
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprint(w, codeOf(err))
			return
		}
		fmt.Fprint(w, len(raw))
	})
	server := httptest.NewUnstartedServer(NewLedger(limits).Handler(handler))
	server.EnableHTTP2 = true
	t.Cleanup(server.Close)
	return server
}

// send returns the answer to a request of which these bytes come, and whether the connection then closes.
func send(t *testing.T, connection net.Conn, text string) (answer string, closes bool) {
	t.Helper()
	if _, err := io.WriteString(connection, text); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(connection)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.Close {
		_, err = reader.ReadByte() // not before it is closed
	}
	return string(raw), response.Close && errors.Is(err, io.EOF)
}

// A body that stalls ends with its connection, with HTTP/1.1 and with HTTP/2.
func TestStalledBodies(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits
	limits.Silence = 50 * time.Millisecond
	server := serve(t, limits, nil)
	server.Start()
	for name, text := range map[string]string{
		"nothing": "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n",
		"some":    "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123",
		"chunks":  "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n123\r\n",
	} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if answer, closes := send(t, connection, text); answer != string(fault.RequestTimeout) || !closes {
			t.Errorf("%s: the answer is %s, the connection closes: %t", name, answer, closes)
		}
	}
	secure := serve(t, limits, nil)
	secure.StartTLS()
	content, writer := io.Pipe()
	defer writer.Close()
	request, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, secure.URL, content)
	response, err := secure.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if answer, _ := io.ReadAll(response.Body); string(answer) != string(fault.RequestTimeout) || response.ProtoMajor != 2 {
		t.Errorf("with HTTP/%d the answer is %s", response.ProtoMajor, answer)
	}
}

// slow is a connection from which a byte comes whenever its deadline has not passed.
type slow struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (s *slow) SetReadDeadline(at time.Time) error {
	s.deadline = at
	return nil
}

func (s *slow) Read(p []byte) (int, error) {
	if !time.Now().Before(s.deadline) {
		return 0, os.ErrDeadlineExceeded
	}
	return copy(p, "a"), nil
}

func (s *slow) Close() error { return nil }

// A body that always comes, but slowly, ends too.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits
	limits.Grace, limits.Rate = time.Millisecond, 1<<50
	client := &slow{ResponseRecorder: httptest.NewRecorder()}
	b := newBody(NewLedger(limits), Tenant("a"), nil, -1)
	b.raw, b.control = client, http.NewResponseController(client)
	if _, err := b.Bytes(t.Context(), 1<<40); codeOf(err) != fault.RequestTimeout {
		t.Errorf("got %v", err)
	}
	b.end()
}

// How long the next byte of a body may take.
func TestPatience(t *testing.T) {
	t.Parallel()
	ledger := NewLedger(DefaultLimits)
	for _, tc := range []struct {
		waited  time.Duration
		arrived int64
		want    time.Duration
	}{
		{0, 0, 10 * time.Second},
		{25 * time.Second, 0, 5 * time.Second},
		{30 * time.Second, 7 * 30 << 10, 0},
		{30 * time.Second, 20 * 30 << 10, 10 * time.Second},
		{time.Hour, 8*3600<<10 + 8<<10, time.Second},
	} {
		if got := ledger.patience(tc.waited, tc.arrived); got != tc.want {
			t.Errorf("after %s and %d bytes it is %s, want %s", tc.waited, tc.arrived, got, tc.want)
		}
	}
}

// A body that has come in time leaves its request and connection as they are.
func TestConnectionsStay(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits
	limits.Silence = 500 * time.Millisecond // in which a busy machine sends a body
	work := func(r *http.Request) {         // longer than a body may stall
		select {
		case <-r.Context().Done():
			t.Errorf("the request ends: %v", context.Cause(r.Context()))
		case <-time.After(2 * limits.Silence):
		}
	}
	server := serve(t, limits, work)
	server.Start()
	secure := serve(t, limits, work)
	secure.StartTLS()
	for _, s := range []*httptest.Server{server, secure} {
		for range 2 {
			response, err := s.Client().Post(s.URL, "text/plain", strings.NewReader("contacts"))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(response.Body)
			response.Body.Close()
			if string(answer) != "8" || err != nil || response.Close {
				t.Errorf("HTTP/%d: got %s, %v", response.ProtoMajor, answer, err)
			}
		}
	}
}

// A response does not wait for a body that nobody reads.
func TestUnreadBodies(t *testing.T) {
	t.Parallel()
	refuse := NewLedger(DefaultLimits).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	server := httptest.NewServer(refuse)
	t.Cleanup(server.Close)
	for text, stays := range map[string]bool{
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n1234567890":  true,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n":            false,
		"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\nabc": false,
	} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		if _, closes := send(t, connection, text); closes == stays {
			t.Errorf("after %.60q the connection closes: %t", text, closes)
		}
	}
}

// A response that net/http sends while the handler runs does not wait for an unread body, either.
func TestLargeResponses(t *testing.T) {
	t.Parallel()
	limits := DefaultLimits
	limits.Silence = 50 * time.Millisecond
	large := NewLedger(limits).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, strings.Repeat("a", 1<<20))
	}))
	server := httptest.NewServer(large)
	t.Cleanup(server.Close)
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if answer, closes := send(t, connection, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n"); len(answer) != 1<<20 || !closes {
		t.Errorf("got %d bytes, the connection closes: %t", len(answer), closes)
	}
}

// Addresses of one network of IPv6 are one client.
func TestAddress(t *testing.T) {
	t.Parallel()
	if Address("2001:db8::1") != Address("2001:0db8:0000:0000:ffff::2") || Address("2001:db8::1") == Address("2001:db8:0:1::1") {
		t.Error("IPv6")
	}
	if Address("192.0.2.1") == Address("192.0.2.2") || addressOf("192.0.2.1:80") != Address("192.0.2.1") {
		t.Error("IPv4")
	}
}

// While large bodies are in memory, the memory limit of the process is lower. It has its usual value again afterwards.
func TestCollectorHurries(t *testing.T) {
	usual := debug.SetMemoryLimit(-1)
	ledger := NewLedger(DefaultLimits)
	first, second := newBody(ledger, Tenant("a"), strings.NewReader(strings.Repeat("a", 10<<20)), -1), newBody(ledger, Tenant("b"), strings.NewReader("a"), -1)
	for _, b := range []*Body{first, second} {
		if err := receive(b, 1); err != nil {
			t.Fatal(err)
		}
	}
	if now := debug.SetMemoryLimit(-1); now != usual {
		t.Errorf("with small bodies the limit is %d, it was %d", now, usual)
	}
	if err := receive(first, 9<<20); err != nil {
		t.Fatal(err)
	}
	if now := debug.SetMemoryLimit(-1); now >= usual {
		t.Errorf("with a large body the limit is %d, it was %d", now, usual)
	}
	first.end()
	if now := debug.SetMemoryLimit(-1); now != usual {
		t.Errorf("in the end the limit is %d, it was %d", now, usual)
	}
	second.end()
}
