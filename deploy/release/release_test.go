package main

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/CycloneDX/cyclonedx-go"

	"contactbase/deploy/release/home"
)

// pack makes all files of a release but the executable: this test is what the bill is of, and a few random bytes are
// packed, the same ones each time.
func pack(t *testing.T, system target) *release {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 3<<20) // more than one block of what is compressed in parallel
	if _, err := rand.NewChaCha8([32]byte{}).Read(content); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "contactbase")
	if err := os.WriteFile(binary, content, 0o600); err != nil {
		t.Fatal(err)
	}
	publisher, err := home.Read("../..")
	if err != nil {
		t.Fatal(err)
	}
	own, err := ownLicenses()
	if err != nil {
		t.Fatal(err)
	}
	r := &release{version: "1.2.3-rc.1", home: publisher, root: "../..", manual: t.TempDir(), out: t.TempDir(), at: time.Unix(1_800_000_000, 0).UTC()}
	if r.papers, err = r.listPapers(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := put(filepath.Join(r.manual, "usr/share/man/man1/contactbase.1.gz"), content[:100]); err != nil {
		t.Fatal(err)
	}
	for _, step := range []func() error{
		r.writeNotes,
		func() error { return create(filepath.Join(filepath.Dir(binary), licensePaper), own.write) },
		func() error { return r.writeBill(system, self, own) },
		func() error { return r.writeArchive(system, binary) },
		func() error { return r.writePackages(system, binary) },
		r.writeChecksums,
	} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

// ownLicenses are the licenses of what this program is built of.
var ownLicenses = sync.OnceValues(func() (licenses, error) {
	return (&release{root: "."}).readLicenses(context.Background(), target{runtime.GOOS, runtime.GOARCH})
})

// The same executable gives the same bytes, whenever and wherever it is packed.
func TestReproducible(t *testing.T) {
	t.Parallel()
	for _, system := range []target{{"linux", "arm64"}, {"windows", "amd64"}} {
		first, second := pack(t, system), pack(t, system)
		for _, name := range names(t, first.out) {
			if a, b := sum(t, filepath.Join(first.out, name)), sum(t, filepath.Join(second.out, name)); a != b {
				t.Errorf("%s differs", name)
			}
		}
	}
}

// Everything that is published has its checksum, as sha256sum reads it.
func TestChecksums(t *testing.T) {
	t.Parallel()
	r := pack(t, target{"linux", "amd64"})
	want := []string{"SHA256SUMS"}
	for _, ending := range []string{".cdx.json", ".deb", ".rpm", ".tar.gz"} {
		want = append(want, "contactbase_1.2.3-rc.1_linux_amd64"+ending)
	}
	if want = append(want, "notes.md"); !slices.Equal(names(t, r.out), want) {
		t.Errorf("there are %v", names(t, r.out))
	}
	if _, err := exec.LookPath("sha256sum"); err != nil {
		t.Skip("there is no sha256sum here")
	}
	check := exec.CommandContext(t.Context(), "sha256sum", "--check", "--strict", "SHA256SUMS")
	check.Dir = r.out
	if out, err := check.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != len(want)-1 {
		t.Errorf("sha256sum says %v: %s", err, out)
	}
}

// What a file that is published leads to is published, too.
func TestPapersLeadToPapers(t *testing.T) {
	t.Parallel()
	r := &release{root: "../.."}
	papers, err := r.listPapers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:\s]+)[)#]`)
	links := 0
	for _, name := range papers {
		if filepath.Ext(name) != ".md" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range link.FindAllSubmatch(content, -1) {
			target := filepath.Join(filepath.Dir(name), string(found[1]))
			links++
			isThere := slices.ContainsFunc(papers, func(paper string) bool { return paper == target || strings.HasPrefix(paper, target+"/") })
			if !isThere {
				t.Errorf("%s leads to %s, which is not published", name, target)
			}
		}
	}
	if links < 50 {
		t.Errorf("there are but %d links", links)
	}
}

// The bill names the program and what it was built of.
func TestBill(t *testing.T) {
	t.Parallel()
	r := pack(t, target{"linux", "amd64"})
	file, err := os.Open(filepath.Join(r.out, "contactbase_1.2.3-rc.1_linux_amd64.cdx.json"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var bill cyclonedx.BOM
	if err := cyclonedx.NewBOMDecoder(file, cyclonedx.BOMFileFormatJSON).Decode(&bill); err != nil {
		t.Fatal(err)
	}
	if program := bill.Metadata.Component; program.Name != "contactbase" || program.Version != "1.2.3-rc.1" {
		t.Errorf("it is about %+v", program)
	}
	found := slices.ContainsFunc(*bill.Components, func(c cyclonedx.Component) bool {
		return strings.HasPrefix(c.PackageURL, "pkg:golang/github.com/CycloneDX/cyclonedx-go@v0.") && c.Licenses != nil && (*c.Licenses)[0].License.ID == "Apache-2.0"
	})
	if !found {
		t.Errorf("it does not name what is compiled in, with its license: %+v", bill.Components)
	}
}

// Everything that is compiled into the program has a license that is known by its SPDX identifier, and whose text
// is in the archive.
func TestLicenses(t *testing.T) {
	t.Parallel()
	all, err := (&release{root: "../.."}).readLicenses(t.Context(), target{"linux", "amd64"})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, from := range all {
		names = append(names, from...)
	}
	for _, name := range names {
		if len(all.of(name)) == 0 {
			t.Errorf("%s has an unknown license", name)
		}
	}
	var text strings.Builder
	if err := all.write(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nGo\n", "\ngithub.com/pocketbase/pocketbase v", "\nmodernc.org/sqlite v", "\ngithub.com/benbjohnson/litestream v", "Gani Georgiev", "Apache License"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the licenses do not contain %q", want)
		}
	}
	archive, err := os.ReadFile(filepath.Join(pack(t, target{"windows", "amd64"}).out, "contactbase_1.2.3-rc.1_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	packed, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{licensePaper, "sbom.cdx.json", "LICENSE"} {
		if info, err := fs.Stat(packed, "contactbase_1.2.3-rc.1_windows_amd64/"+name); err != nil || info.Size() < 1000 {
			t.Errorf("%s in the archive: %v", name, err)
		}
	}
}

func TestNotes(t *testing.T) {
	t.Parallel()
	const changelog = "# Changelog\n\n## [Unreleased]\n\n## [1.1.0] - 2026-02-01\n\n### Added\n\n- More\n\n## [1.0.0] - 2026-01-01\n\n- All\n"
	for version, want := range map[string]string{
		"1.1.0": "### Added\n\n- More\n", "1.0.0": "- All\n", "1.0.0-rc.1": "- All\n", "1.2.0-rc.1": "Nothing has changed yet.\n",
	} {
		if got, err := notesOf(changelog, version); got != want || err != nil {
			t.Errorf("the notes of %s are %q, %v", version, got, err)
		}
	}
	if got, err := notesOf(changelog, "1.2.0"); err == nil {
		t.Errorf("the notes of an unknown version are %q", got)
	}
	if got, err := notesOf(strings.Replace(changelog, "]\n", "]\n\n- New\n", 1), "1.2.0-rc.1"); got != "- New\n" || err != nil {
		t.Errorf("the notes of a pre-release are %q, %v", got, err)
	}
}

func names(t *testing.T, folder string) []string {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, file := range files {
		all = append(all, file.Name())
	}
	return all
}

func sum(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}
