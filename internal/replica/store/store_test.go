package store_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"contactbase/internal/replica/fakes3"
	"contactbase/internal/replica/store"
)

var credentials = store.Credentials{Key: "a-key", Secret: "a-secret"}

// each runs a test with every kind of store.
func each(t *testing.T, test func(t *testing.T, s store.Store)) {
	t.Helper()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		test(t, open(t, "file://"+t.TempDir()))
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		test(t, open(t, bucket(t).URL("a/folder")))
	})
}

func bucket(t *testing.T) *fakes3.Store {
	t.Helper()
	s := fakes3.New()
	t.Cleanup(s.Close)
	return s
}

func open(t *testing.T, address string) store.Store {
	t.Helper()
	s, err := store.Open(address, credentials)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s store.Store, name string, content []byte) {
	t.Helper()
	size, err := s.Put(t.Context(), name, bytes.NewReader(content))
	if err != nil || size != int64(len(content)) {
		t.Fatalf("writing %s of %d bytes: %d, %v", name, len(content), size, err)
	}
}

func get(t *testing.T, s store.Store, name string, offset, size int64) []byte {
	t.Helper()
	body, err := s.Get(t.Context(), name, offset, size)
	if err != nil {
		t.Fatalf("reading %s: %v", name, err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatalf("reading %s: %v", name, err)
	}
	return content
}

func TestObjects(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s store.Store) {
		large := bytes.Repeat([]byte("0123456789abcdef"), 2<<20+1) // two parts and a bit
		put(t, s, "1/data.db/ltx/0/a.ltx", []byte("an object"))
		put(t, s, "1/data.db/ltx/0/b.ltx", large)
		put(t, s, "1/data.db/ltx/1/c.ltx", nil)
		put(t, s, "2/data.db/ltx/0/d.ltx", []byte("another"))
		if got := get(t, s, "1/data.db/ltx/0/b.ltx", 0, 0); !bytes.Equal(got, large) {
			t.Errorf("a large object of %d bytes is read as %d", len(large), len(got))
		}
		if got := string(get(t, s, "1/data.db/ltx/0/a.ltx", 3, 0)); got != "object" {
			t.Errorf("from an offset: %q", got)
		}
		if got := string(get(t, s, "1/data.db/ltx/0/a.ltx", 3, 2)); got != "ob" {
			t.Errorf("a part: %q", got)
		}
		if got := names(t, s, "1/data.db/ltx/0"); !slices.Equal(got, []string{"1/data.db/ltx/0/a.ltx 9", "1/data.db/ltx/0/b.ltx 33554448"}) {
			t.Errorf("the folder has %q", got)
		}
		if folders, err := s.Folders(t.Context(), ""); err != nil || !slices.Equal(folders, []string{"1", "2"}) {
			t.Errorf("the root has %q (%v)", folders, err)
		}
		if err := s.Delete(t.Context(), []string{"1/data.db/ltx/0/a.ltx", "1/data.db/ltx/0/never.ltx"}); err != nil {
			t.Error(err)
		}
		if err := s.DeleteFolder(t.Context(), "2"); err != nil {
			t.Error(err)
		}
		if got := append(names(t, s, "1/data.db/ltx/0"), names(t, s, "2/data.db/ltx/0")...); !slices.Equal(got, []string{"1/data.db/ltx/0/b.ltx 33554448"}) {
			t.Errorf("what is left: %q", got)
		}
		if _, err := s.Get(t.Context(), "1/data.db/ltx/0/a.ltx", 0, 0); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("reading a deleted object: %v", err)
		}
	})
}

func names(t *testing.T, s store.Store, folder string) (all []string) {
	t.Helper()
	objects, err := s.List(t.Context(), folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range objects {
		if time.Since(object.Modified) > time.Hour {
			t.Errorf("%s was modified at %s", object.Name, object.Modified)
		}
		all = append(all, object.Name+" "+strconv.FormatInt(object.Size, 10))
	}
	return all
}

func TestSwap(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s store.Store) {
		ctx := t.Context()
		if _, _, err := s.Read(ctx, "lock.json"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("reading a missing object: %v", err)
		}
		first, err := s.Swap(ctx, "lock.json", []byte("1"), "")
		if err != nil || first == "" {
			t.Fatalf("the first: %q, %v", first, err)
		}
		if _, err := s.Swap(ctx, "lock.json", []byte("2"), ""); !errors.Is(err, store.ErrChanged) {
			t.Errorf("creating an existing object: %v", err)
		}
		second, err := s.Swap(ctx, "lock.json", []byte("2"), first)
		if err != nil || second == first {
			t.Fatalf("the second: %q, %v", second, err)
		}
		if _, err := s.Swap(ctx, "lock.json", []byte("3"), first); !errors.Is(err, store.ErrChanged) {
			t.Errorf("with an old tag: %v", err)
		}
		if content, tag, err := s.Read(ctx, "lock.json"); string(content) != "2" || tag != second || err != nil {
			t.Errorf("got %q with the tag %q, want the tag %q (%v)", content, tag, second, err)
		}
	})
}

func TestPages(t *testing.T) {
	t.Parallel()
	s := open(t, bucket(t).URL("x"))
	const objects = 1005 // S3 lists and deletes 1,000 at a time
	var all []string
	for i := range objects {
		all = append(all, "1/"+strings.Repeat("x", i%7)+strconv.Itoa(i))
		put(t, s, all[i], []byte{1})
	}
	if got := len(names(t, s, "1")); got != objects {
		t.Errorf("%d of %d are listed", got, objects)
	}
	if err := s.Delete(t.Context(), all); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s, "1"); len(got) > 0 {
		t.Errorf("%q are left", got)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	fake := bucket(t)
	s := open(t, fake.URL("x"))
	fake.SetAway(true)
	_, err := s.Put(t.Context(), "a", strings.NewReader("content"))
	if err == nil || !strings.Contains(err.Error(), "503") || strings.Contains(err.Error(), credentials.Secret) {
		t.Errorf("an unavailable store: %v", err)
	}
	fake.SetAway(false)
	fake.Stall()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := s.Put(ctx, "a", strings.NewReader("content"))
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("a stalled store: %v", err)
	}
	fake.Resume()
	put(t, s, "a", []byte("content"))
	missing := "s3://no-such-bucket/x?endpoint=" + url.QueryEscape(fake.Endpoint())
	if _, _, err := open(t, missing).Read(t.Context(), "a"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing bucket is reported as a missing object: %v", err)
	}
}

// Objects that S3 has not deleted are errors, even with status 200. Missing objects are not.
func TestRefusedDeletions(t *testing.T) {
	t.Parallel()
	for code, refused := range map[string]bool{"AccessDenied": true, "NoSuchKey": false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "<DeleteResult><Error><Key>x/a</Key><Code>"+code+"</Code><Message>No.</Message></Error></DeleteResult>")
		}))
		t.Cleanup(server.Close)
		err := open(t, "s3://bucket/x?endpoint="+url.QueryEscape(server.URL)).Delete(t.Context(), []string{"a"})
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "x/a: AccessDenied") {
			t.Errorf("%s: %v", code, err)
		}
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		address     string
		credentials store.Credentials
		fault       string // in the error, "" for none
	}{
		{"file:///mnt/replica", store.Credentials{}, ""},
		{"file://mnt/replica", store.Credentials{}, "absolute path"},
		{"s3://bucket", credentials, ""},
		{"s3://bucket/a/b?endpoint=https://s3.example.com&region=eu-central-1", credentials, ""},
		{"s3://bucket/a", store.Credentials{}, "AWS_ACCESS_KEY_ID"},
		{"s3:///a", credentials, "bucket"},
		{"s3://bucket?endpoint=s3.example.com", credentials, "endpoint"},
		{"s3://bucket?skipVerify=true", credentials, "skipVerify"},
		{"s3://key:secret@bucket", credentials, "AWS_ACCESS_KEY_ID"},
		{"https://bucket", credentials, "s3://"},
		{"/mnt/replica", credentials, "file://"},
	} {
		_, err := store.Open(test.address, test.credentials)
		if (err == nil) != (test.fault == "") || err != nil && !strings.Contains(err.Error(), test.fault) {
			t.Errorf("%s: %v", test.address, err)
		}
	}
}
