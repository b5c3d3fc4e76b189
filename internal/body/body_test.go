package body

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"contactbase/internal/fault"
)

// newBody returns a body that has a connection without deadlines.
func newBody(l *Ledger, owner Owner, content io.Reader, announced int64) *Body {
	request := httptest.NewRequest(http.MethodPost, "/", nil)
	request.ContentLength = announced
	w := httptest.NewRecorder()
	return &Body{ledger: l, raw: io.NopCloser(content), request: request, writer: w,
		control: http.NewResponseController(w), owner: owner}
}

func codeOf(err error) fault.Code {
	if f := (*fault.Error)(nil); errors.As(err, &f) {
		return f.Code
	}
	return ""
}

// receive reads n bytes of a body that does not end there.
func receive(b *Body, n int) error {
	_, err := io.ReadFull(b, make([]byte, n))
	return err
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
