// Package clients packs the clients that an installation serves.
package clients

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

//go:embed LICENSE typescript/package.json typescript/README.md typescript/dist
//go:embed python/pyproject.toml python/README.md python/contactbase/*.py python/contactbase/py.typed
var sources embed.FS

// goSources is a copy of the sources of the Go client, because a program cannot embed the files of another module.
//
//go:embed go.txtar
var goSources []byte

// packed is when all packed files were changed. Zip knows no time before 1980.
var packed = time.Date(1985, 10, 26, 8, 15, 0, 0, time.UTC)

// Names are the names of the packed clients, which end with the version of the program.
type Names struct {
	NPM, Go, Python string

	version, pythonVersion string
}

// The versions of a program that is not a release.
const (
	dev       = "0.0.0-dev"
	devPython = "0.0.0.dev0"
)

var (
	semantic   = regexp.MustCompile(`^(\d+\.\d+\.\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$`)
	preRelease = regexp.MustCompile(`^(a|b|rc)(?:lpha|eta)?\.?(\d+)$`)
)

// NamesFor returns the names for a version of the program. A version that is not a semantic one is that of a program
// that is not a release.
func NamesFor(version string) Names {
	n := Names{version: dev, pythonVersion: devPython}
	if parts := semantic.FindStringSubmatch(version); parts != nil {
		n.version, n.pythonVersion = parts[1], parts[1]
		if pre := parts[2]; pre != "" {
			n.version += "-" + pre
			n.pythonVersion += pythonSuffix(pre)
		}
	}
	n.NPM = "contactbase-" + n.version + ".tgz"
	n.Go = "contactbase-" + n.version + "-go.zip"
	n.Python = "contactbase-" + n.pythonVersion + "-py3-none-any.whl"
	return n
}

// pythonSuffix returns a pre-release in the form of PEP 440, which has no word for others than alpha, beta and rc.
func pythonSuffix(pre string) string {
	if parts := preRelease.FindStringSubmatch(pre); parts != nil {
		return parts[1] + parts[2]
	}
	return ".dev0"
}

// In returns a text that has the names for a program that is not a release, with these names instead.
func (n Names) In(text string) string {
	return strings.NewReplacer(dev, n.version, devPython, n.pythonVersion).Replace(text)
}

// file is a file of an archive.
type file struct {
	name    string
	content []byte
}

// Pack returns the clients by their names. The same version gives the same bytes.
func Pack(n Names) (map[string][]byte, error) {
	all := map[string][]byte{}
	for _, client := range []struct {
		name  string
		files func(Names) ([]file, error)
		pack  func([]file) ([]byte, error)
	}{
		{n.NPM, npmFiles, packTar}, {n.Go, goFiles, packZip}, {n.Python, pythonFiles, packZip},
	} {
		files, err := client.files(n)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", client.name, err)
		}
		if all[client.name], err = client.pack(files); err != nil {
			return nil, fmt.Errorf("%s: %w", client.name, err)
		}
	}
	return all, nil
}

var npmVersion = regexp.MustCompile(`(?m)^  "version": "[^"]*"`)

// npmFiles returns the files of the npm package, in its folder.
func npmFiles(n Names) ([]file, error) {
	files, err := read("package/", "typescript", "package.json", "README.md", "dist/*")
	if err != nil {
		return nil, err
	}
	files[0].content = npmVersion.ReplaceAll(files[0].content, []byte(`  "version": "`+n.version+`"`))
	return withLicense(files, "package/LICENSE")
}

// goFiles returns the files of the Go module, in one folder.
func goFiles(Names) (files []file, err error) {
	const folder = "contactbase-go/"
	for _, f := range txtar.Parse(goSources).Files {
		files = append(files, file{folder + f.Name, f.Data})
	}
	return withLicense(files, folder+"LICENSE")
}

// pythonFiles returns the files of the wheel.
// See https://packaging.python.org/en/latest/specifications/binary-distribution-format/.
func pythonFiles(n Names) ([]file, error) {
	files, err := read("", "python", "contactbase/*")
	if err != nil {
		return nil, err
	}
	metadata, err := pythonMetadata(n.pythonVersion)
	if err != nil {
		return nil, err
	}
	folder := "contactbase-" + n.pythonVersion + ".dist-info/"
	files = append(files, file{folder + "METADATA", metadata}, file{folder + "WHEEL",
		[]byte("Wheel-Version: 1.0\nGenerator: contactbase\nRoot-Is-Purelib: true\nTag: py3-none-any\n")})
	if files, err = withLicense(files, folder+"LICENSE"); err != nil {
		return nil, err
	}
	var record strings.Builder
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", folder)
	return append(files, file{folder + "RECORD", []byte(record.String())}), nil
}

var pythonField = regexp.MustCompile(`(?m)^(description|requires-python) = "(.*)"$`)

// pythonMetadata returns the core metadata of the Python package.
func pythonMetadata(version string) ([]byte, error) {
	project, err := sources.ReadFile("python/pyproject.toml")
	if err != nil {
		return nil, err
	}
	readme, err := sources.ReadFile("python/README.md")
	if err != nil {
		return nil, err
	}
	fields := map[string]string{}
	for _, found := range pythonField.FindAllStringSubmatch(string(project), -1) {
		fields[found[1]] = found[2]
	}
	return fmt.Appendf(nil, "Metadata-Version: 2.1\nName: contactbase\nVersion: %s\nSummary: %s\nLicense: MIT\n"+
		"Requires-Python: %s\nDescription-Content-Type: text/markdown\n\n%s",
		version, fields["description"], fields["requires-python"], readme), nil
}

// read returns the embedded files of a folder that match the patterns, in order.
func read(prefix, folder string, patterns ...string) (files []file, err error) {
	below, err := fs.Sub(sources, folder)
	if err != nil {
		return nil, err
	}
	for _, pattern := range patterns {
		names, err := fs.Glob(below, pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			content, err := fs.ReadFile(below, name)
			if err != nil {
				return nil, err
			}
			files = append(files, file{prefix + name, content})
		}
	}
	return files, nil
}

func withLicense(files []file, name string) ([]file, error) {
	license, err := sources.ReadFile("LICENSE")
	return append(files, file{name, license}), err
}

func packTar(files []file) ([]byte, error) {
	var out bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, f := range files {
		header := &tar.Header{
			Name: f.name, Size: int64(len(f.content)), Mode: 0o644, ModTime: packed, Format: tar.FormatUSTAR,
		}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func packZip(files []file) ([]byte, error) {
	var out bytes.Buffer
	archive := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: packed}
		header.SetMode(0o644)
		part, err := archive.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
