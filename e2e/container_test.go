//go:build linux

package e2e

import (
	"compress/gzip"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxImage is the maximum download size of the image, in bytes. Registries compress it.
const maxImage = 21_500_000

// The image of the release does the main job and runs the demo, as a user that can write only to /data and /tmp. The
// test starts no container, because CI has none: the image adds only its root directory.
func TestContainer(t *testing.T) {
	t.Parallel()
	needRoot(t)
	if findTool(t, "buildah") == "" {
		t.Skip("there is no buildah")
	}
	root := buildImage(t)
	program := within(root, "/contactbase")
	if size := sizeOf(t, root); size > maxImage {
		t.Errorf("the image has %d bytes compressed", size)
	}
	if _, err := os.Stat(filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")); err != nil {
		t.Error(err)
	}
	for folder, code := range map[string]int{"/data/a": 0, "/tmp/b": 0, "/c": 1, "/etc/d": 1} {
		i := &installation{t: t, data: folder, program: program}
		if got := i.run("tenant", "create", "Acme"); got.code != code {
			t.Errorf("with a folder at %s a command exits with %d: %s", folder, got.code, got.stderr)
		}
	}
	t.Run("demo", func(t *testing.T) {
		address := freeAddress(t)
		everywhere := strings.Replace(address, "127.0.0.1", "0.0.0.0", 1)
		i := &installation{t: t, program: program}
		p := launch(t, i.command(t.Context(), "demo", "--http", everywhere))
		p.await("Contactbase is running at http://" + address + ",") // as seen from where the container's port is published
		p.await("received and verified: contact.created Ada Lovelace")
		if got := finish(t, i.command(t.Context(), "healthcheck", "--http", everywhere)); got.code != 0 {
			t.Errorf("healthcheck exits with %d: %s", got.code, got.stderr)
		}
		p.stop()
	})
	t.Run("main job", func(t *testing.T) {
		mainJob(t, &installation{t: t, data: "/data/pb_data", program: program}, fewContacts)
	})
}

// buildImage builds the image of the release, and returns the directory of its files, until the test ends.
func buildImage(t *testing.T) (root string) {
	t.Helper()
	name := filepath.Base(artifact(t, ".tar.gz"))
	version := strings.TrimSuffix(strings.TrimPrefix(name, "contactbase_"), "_linux_amd64.tar.gz")
	buildah := func(command string, args ...string) string {
		t.Helper()
		c := exec.Command(command, args...) // the context of the test has ended when it cleans up
		c.Env = append(os.Environ(), "STORAGE_DRIVER=vfs", "BUILDAH_ISOLATION=chroot", "DIST="+os.Getenv(distEnv))
		got := finish(t, c)
		if got.code != 0 {
			t.Fatalf("%s %v exits with %d: %s%s", command, args, got.code, got.stdout, got.stderr)
		}
		return strings.TrimSpace(got.stdout)
	}
	buildah("../deploy/container/build", version)
	image := regexp.MustCompile(`(?m)^image: (\S+)`).FindStringSubmatch(readText(t, "../deploy/home.yaml"))[1] + ":" + version
	t.Cleanup(func() { buildah("buildah", "rmi", image) })
	config := buildah("buildah", "inspect", "--type=image", "--format={{.Docker.Config.User}} {{.Docker.Config.Entrypoint}} {{.Docker.Config.Cmd}} {{.Docker.Config.Healthcheck.Test}} {{.Docker.Config.Volumes}}", image)
	if want := stranger + " [/contactbase] [serve --http=0.0.0.0:8090 --dir=/data/pb_data] [CMD /contactbase healthcheck] map[/data:{}]"; config != want {
		t.Errorf("the image runs %s", config)
	}
	container := buildah("buildah", "from", image)
	t.Cleanup(func() { buildah("buildah", "rm", container) })
	return buildah("buildah", "mount", container)
}

// sizeOf returns the compressed size of the files in a directory, in bytes.
func sizeOf(t *testing.T, folder string) int64 {
	t.Helper()
	var size counter
	compressed := gzip.NewWriter(&size)
	eachFile(t, folder, func(path string, info fs.FileInfo) {
		if !info.Mode().IsRegular() {
			return
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if _, err := io.Copy(compressed, file); err != nil {
			t.Fatal(err)
		}
	})
	if err := compressed.Close(); err != nil {
		t.Fatal(err)
	}
	return int64(size)
}

// counter counts the bytes that are written to it.
type counter int64

// Write implements io.Writer.
func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
