package e2e

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"contactbase/internal/replica/fakes3"
)

// s3Program builds a real S3 server, once for all tests. It has a module of its own, because the product does
// not depend on it.
var s3Program = sync.OnceValues(func() (path string, err error) {
	if _, err := build(); err != nil { // which makes the folder
		return "", err
	}
	path = filepath.Join(buildFolder, "versitygw")
	command := exec.Command("go", "build", "-o", path, "github.com/versity/versitygw/cmd/versitygw")
	command.Dir = "s3"
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build versitygw: %w\n%s", err, out)
	}
	return path, nil
})

// startS3 starts a real S3 server that stores its objects in a directory, and returns a store in front of
// it that can fail.
func startS3(t *testing.T) *fakes3.Store {
	t.Helper()
	program, err := s3Program()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, fakes3.Bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	server := launch(t, exec.Command(program, "--quiet", "--port", address, "--access", "test", "--secret", "test", "--keep-alive", "posix", folder))
	endpoint := &url.URL{Scheme: "http", Host: address}
	await(t, "a server of S3", func() bool {
		select {
		case <-server.ended:
			t.Fatalf("versitygw ends: %s", server.output)
		default:
		}
		answer, err := http.Get(endpoint.String())
		if err != nil {
			return false
		}
		return answer.Body.Close() == nil
	})
	store := fakes3.InFrontOf(endpoint)
	t.Cleanup(store.Close)
	return store
}
