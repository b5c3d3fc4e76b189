package store_test

import (
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"contactbase/internal/replica/store"
)

// An object does not exist only if the store says NoSuchKey. A listing never means that.
func TestAbsence(t *testing.T) {
	t.Parallel()
	const noSuchKey = "<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>"
	for name, answer := range map[string]struct {
		status int
		body   string
		absent bool
	}{
		"S3":                   {http.StatusNotFound, noSuchKey, true},
		"no body":              {http.StatusNotFound, "", false},
		"a proxy":              {http.StatusNotFound, "<html><body>404 page not found</body></html>", false},
		"another code":         {http.StatusNotFound, strings.Replace(noSuchKey, "NoSuchKey", "NoSuchUpload", 1), false},
		"no bucket":            {http.StatusNotFound, strings.Replace(noSuchKey, "NoSuchKey", "NoSuchBucket", 1), false},
		"half an answer":       {http.StatusNotFound, noSuchKey[:20], false},
		"a forbidden key":      {http.StatusForbidden, noSuchKey, false},
		"a page with 200":      {http.StatusOK, "<html><body>welcome</body></html>", false},
		"an empty 200":         {http.StatusOK, "", false},
		"half a list":          {http.StatusOK, "<ListBucketResult><Contents><Key>x/1/a</Key>", false},
		"a list without a way": {http.StatusOK, "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := answering(t, answer.status, answer.body)
			if _, err := s.List(t.Context(), "1"); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a listing ends with %v", err)
			}
			if _, err := s.Folders(t.Context(), ""); err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("a listing of folders ends with %v", err)
			}
			if answer.status == http.StatusOK {
				return
			}
			if _, _, err := s.Read(t.Context(), "a"); errors.Is(err, fs.ErrNotExist) != answer.absent || err == nil {
				t.Errorf("reading ends with %v", err)
			}
			if _, err := s.Get(t.Context(), "a", 0, 0); errors.Is(err, fs.ErrNotExist) != answer.absent || err == nil {
				t.Errorf("getting ends with %v", err)
			}
		})
	}
}

// Successful responses that no S3 store sends are errors.
func TestResponsesOfOthers(t *testing.T) {
	t.Parallel()
	s := answering(t, http.StatusOK, "<html><body>welcome</body></html>")
	if _, err := s.Put(t.Context(), "a", strings.NewReader("content")); err == nil {
		t.Error("Put accepts the response of another server")
	}
	if _, err := s.Swap(t.Context(), "a", []byte("content"), ""); err == nil {
		t.Error("Swap accepts the response of another server")
	}
	if _, err := s.Get(t.Context(), "a", 5, 0); err == nil {
		t.Error("Get with an offset accepts the whole object")
	}
}

// A response that is cut off is an error.
func TestPartialResponse(t *testing.T) {
	t.Parallel()
	const whole = "<ListBucketResult></ListBucketResult>   "
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		_, _ = io.WriteString(w, strings.TrimSpace(whole))
	}))
	t.Cleanup(server.Close)
	s := open(t, "s3://bucket/x?endpoint="+url.QueryEscape(server.URL))
	if objects, err := s.List(t.Context(), "1"); err == nil {
		t.Errorf("half a list is %v", objects)
	}
	if content, _, err := s.Read(t.Context(), "a"); err == nil {
		t.Errorf("half an object is %q", content)
	}
}

// answering returns a store whose server sends the same response to every request.
func answering(t *testing.T, status int, body string) store.Store {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return open(t, "s3://bucket/x?endpoint="+url.QueryEscape(server.URL))
}
