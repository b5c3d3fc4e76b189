package home

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// The version that is rehearsed, and the one before, which lacks a migration.
const (
	newer = "1.0.0"
	older = "0.9.9"
)

// outside is a release on a server, and a machine whose administrator has only that server and the guide.
type outside struct {
	*machine
	root   string            // of the sources
	env    map[string]string // of commands that make a release
	shop   string            // URL of the server
	hook   string            // URL of the receiver
	events chan string       // bodies that the receiver got
	key    string            // of the API
}

// A fresh machine gets a release as the guide says, and nothing else: it verifies the archive, installs the older
// version, creates the first superuser, receives the first event, backs up and restores, upgrades and removes, with
// apt and with rpm.
func TestRelease(t *testing.T) {
	if os.Getenv("REHEARSE_RELEASE") != "1" {
		t.Skip("task release:rehearse runs it")
	}
	o := &outside{root: copySources(t), events: make(chan string, 100)}
	o.env = map[string]string{"SOURCE_DATE_EPOCH": "1767225600", "GNUPGHOME": t.TempDir(), "STORAGE_DRIVER": "vfs", "BUILDAH_ISOLATION": "chroot"}
	o.make(t)
	o.machine = newMachine(t)
	t.Log("both versions are made, and the machine runs")
	o.serve()
	steps := []struct {
		name string
		try  func()
	}{{"archive", o.tryArchive}, {"image", o.tryImage}, {"deb", o.tryDeb}, {"rpm", o.tryRPM}}
	for _, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			o.t = t
			step.try()
		})
	}
}

// make makes both versions of a copy of the sources. The older one is signed in dist, and the newer
// one waits beside it.
func (o *outside) make(t *testing.T) {
	t.Helper()
	move(t, o.root, acme)
	changelog := filepath.Join(o.root, "CHANGELOG.md")
	writeText(t, changelog, strings.Replace(readFiles(t, o.root)["CHANGELOG.md"], "## [Unreleased]", "## ["+newer+"]\n\n- More.\n\n## ["+older+"]\n\n- Less.", 1))
	release := []string{"go", "run", "-C", "deploy/release", ".", "-target", "linux/amd64", "-version"}
	run(t, o.root, o.env, append(release, older)...)
	const later = "1769000001_later.go"
	copyFile(t, filepath.Join(o.root, "e2e/testdata/later", later), filepath.Join(o.root, later))
	run(t, o.root, o.env, append(release, newer, "-out", "../../next")...)
	run(t, o.root, o.env, "gpg", "--batch", "--quiet", "--passphrase=", "--quick-generate-key", signer, "default", "sign")
	o.publish(t)
}

const signer = "contactbase@acme.example"

// publish signs what is in dist, and makes it an apt repository.
func (o *outside) publish(t *testing.T) {
	t.Helper()
	run(t, o.root, o.env, "deploy/release/sign", signer)
	run(t, o.root, o.env, "deploy/release/apt", signer)
}

// serve publishes dist and receives events, on the loopback of the machine.
func (o *outside) serve() {
	receive := func(_ http.ResponseWriter, request *http.Request) {
		event, _ := io.ReadAll(request.Body) // what is cut off is not an event
		o.events <- string(event)
	}
	o.shop = o.listen(http.FileServer(http.Dir(filepath.Join(o.root, "dist"))))
	o.hook = o.listen(http.HandlerFunc(receive))
}

// guide returns the lines of the guide with a text, with the addresses and versions of this rehearsal.
func (o *outside) guide(text string) string {
	o.t.Helper()
	lines := snippet(o.t, filepath.Join(o.root, "docs/install.md"), text)
	return strings.NewReplacer(acme.Apt, o.shop, "1.1.0", newer, "1.0.0", older, "…", older, "apt install ", "apt install --yes ").Replace(lines)
}

// download downloads files of a version.
func (o *outside) download(version, endings string) {
	o.t.Helper()
	o.run("curl -fsSO " + o.shop + "/contactbase_" + version + "_linux_amd64." + endings)
}

// tryArchive verifies the archive, and runs its demo.
func (o *outside) tryArchive() {
	o.download(older, "tar.gz")
	o.run("curl -fsS --remote-name-all " + o.shop + "/{contactbase.asc,SHA256SUMS,SHA256SUMS.asc}")
	lines := strings.Replace(o.guide("sha256sum --check"), "./contactbase serve", "timeout 60 ./contactbase demo | grep -m1 'received and verified: contact.created'", 1)
	out := o.run("set +o pipefail; " + lines) // grep ends the demo
	for _, text := range []string{"Good signature from", "contactbase_" + older + "_linux_amd64.tar.gz: OK", "received and verified"} {
		if !strings.Contains(out, text) {
			o.t.Errorf("the lines of the guide do not print %q: %s", text, out)
		}
	}
	o.run("echo >>SHA256SUMS")
	o.fails("gpg --verify SHA256SUMS.asc SHA256SUMS", "BAD signature")
}

// tryImage builds the image as the guide says, pushes it to a registry, and runs the demo of the image that
// the registry has.
func (o *outside) tryImage() {
	folder := filepath.Join(o.root, "dist")
	run(o.t, folder, o.env, "sh", "-euc", o.guide("deploy/container/build"))
	host, stored := o.startRegistry()
	built, pushed := acme.Image+":"+older, host+"/contactbase:"+older
	run(o.t, folder, o.env, "buildah", "push", "--quiet", "--tls-verify=false", "--compression-level=9", built, "docker://"+pushed)
	run(o.t, folder, o.env, "buildah", "rmi", built)
	o.t.Logf("the image has %s bytes to download", strings.Fields(run(o.t, stored, nil, "du", "--summarize", "--bytes", "."))[0])

	container := strings.TrimSpace(run(o.t, folder, o.env, "buildah", "from", "--quiet", "--tls-verify=false", pushed))
	defer run(o.t, folder, o.env, "buildah", "rmi", "--force", pushed) // with the container
	run(o.t, folder, o.env, "sh", "-euc", "timeout 60 buildah run "+container+" -- /contactbase demo | grep -m1 'received and verified: contact.created'")
}

// startRegistry starts a registry of images until the test ends. It returns its address and the directory of its files.
func (o *outside) startRegistry() (host, stored string) {
	o.t.Helper()
	host, stored = freeAddress(o.t), o.t.TempDir()
	config := filepath.Join(o.t.TempDir(), "registry.yml")
	writeText(o.t, config, "version: 0.1\nstorage: {filesystem: {rootdirectory: "+stored+"}}\nhttp: {addr: '"+host+"'}\n")
	start(o.t, stored, "http://"+host+"/v2/", "docker-registry", "serve", config)
	return host, stored
}

func (o *outside) tryDeb() {
	o.run(o.guide("sources.list.d"))
	o.try("deb", func(lines string) string { return lines })
	o.run("sudo apt remove --yes contactbase")
	o.removed()
}

func (o *outside) tryRPM() {
	o.try("rpm", forRPM)
	o.run("sudo rpm --force-debian -e contactbase")
	o.removed()
}

// try is what an administrator does with a package, from the installation to the upgrade.
func (o *outside) try(ending string, read func(string) string) {
	o.t.Helper()
	o.download(older, ending)
	o.run(read(o.guide("systemctl enable --now")))
	await(o.t, "the link that creates the first superuser", func() bool {
		out, err := o.enter(o.guide("grep pbinstall")).Output()
		return err == nil && strings.Contains(string(out), "/_/#/pbinstal")
	})
	o.run(o.guide("contactbase-admin superuser upsert"))
	o.key = regexp.MustCompile(`cmk_\w{36}`).FindString(o.run(o.guide("contactbase-admin key create")))
	o.run("echo CONTACTBASE_WEBHOOK_ALLOW=127.0.0.0/8 | sudo tee --append /etc/contactbase/environment; sudo systemctl restart contactbase")
	o.run("sudo contactbase-admin webhook create Acme " + o.hook)
	o.run(strings.Replace(snippet(o.t, filepath.Join(o.root, "README.md"), "export CB="), "cmk_…", o.key, 1))
	o.await("Ada Lovelace")
	o.holds(older, 1)

	o.run(o.guide("contactbase-admin restore"))
	o.holds(older, 1)

	run(o.t, o.root, nil, "sh", "-euc", "cp next/contactbase_* dist")
	o.publish(o.t)
	o.download(newer, ending)
	o.run(read(o.guide("1.1.0_linux_amd64.deb")))
	o.holds(newer, 1)
	o.run(`curl -fsS -H "X-API-Key: ` + o.key + `" -H 'Content-Type: application/json' -d '{"name":"Grace Hopper"}' http://127.0.0.1:8090/api/ext/v1/contacts`)
	o.await("Grace Hopper")
}

// await waits until the receiver got a contact's event.
func (o *outside) await(name string) {
	o.t.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case event := <-o.events:
			if strings.Contains(event, "contact.created") && strings.Contains(event, name) {
				return
			}
		case <-deadline:
			o.t.Fatalf("no event about %s arrives", name)
		}
	}
}

// holds checks which version serves that many contacts.
func (o *outside) holds(version string, contacts int) {
	o.t.Helper()
	o.run("contactbase --version | grep --fixed-strings 'version " + version + "'")
	await(o.t, "version "+version, func() bool {
		out, err := o.enter("curl -fsS http://127.0.0.1:8090/api/health").Output()
		return err == nil && strings.Contains(string(out), `"`+version+`"`)
	})
	var list struct{ Data []struct{} }
	out := o.run(`curl -fsS -H "X-API-Key: ` + o.key + `" http://127.0.0.1:8090/api/ext/v1/contacts`)
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Data) != contacts {
		o.t.Errorf("version %s has not %d contacts: %s", version, contacts, out)
	}
}

// removed checks that the removed package has left the data, and deletes them.
func (o *outside) removed() {
	o.t.Helper()
	o.fails("systemctl is-active contactbase.socket", "inactive")
	o.run("test ! -e /usr/bin/contactbase; test -e /var/lib/private/contactbase/pb_data/data.db")
	o.run(o.guide("rm -r /var/lib/private/contactbase"))
	o.run("test ! -e /var/lib/private/contactbase; rm -f /etc/contactbase/environment*")
}
