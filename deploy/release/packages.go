package main

import (
	"io"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	"github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	"github.com/goreleaser/nfpm/v2/rpm"
)

// writePackages writes the Debian and the RPM package of a system.
func (r *release) writePackages(t target, binary string) error {
	for _, packager := range []interface {
		nfpm.Packager
		ConventionalExtension() string
	}{deb.Default, rpm.DefaultRPM} {
		info := nfpm.WithDefaults(r.describe(t, binary))
		if err := nfpm.PrepareForPackager(info, packager.ConventionalExtension()[1:]); err != nil {
			return err
		}
		path := filepath.Join(r.out, r.name(t)+packager.ConventionalExtension())
		if err := create(path, func(file io.Writer) error { return packager.Package(info, file) }); err != nil {
			return err
		}
	}
	return nil
}

// describe says what is in a package.
func (r *release) describe(t target, binary string) *nfpm.Info {
	deploy := filepath.Join(r.root, "deploy")
	contents := files.Contents{
		{Source: binary, Destination: "/usr/bin/contactbase", FileInfo: &files.ContentFileInfo{Mode: 0o755}},
		{Source: filepath.Join(deploy, "systemd", "contactbase.service"), Destination: "/usr/lib/systemd/system/contactbase.service"},
		{Source: filepath.Join(deploy, "systemd", "contactbase.socket"), Destination: "/usr/lib/systemd/system/contactbase.socket"},
		{Source: filepath.Join(deploy, "systemd", "environment"), Destination: "/etc/contactbase/environment", Type: files.TypeConfigNoReplace, FileInfo: &files.ContentFileInfo{Mode: 0o600}},
	}
	for _, name := range papers {
		contents = append(contents, &files.Content{Source: filepath.Join(r.root, name), Destination: "/usr/share/doc/contactbase/" + name})
	}
	for _, c := range contents { // as the sources have them, whatever this machine's umask is
		if c.FileInfo == nil {
			c.FileInfo = &files.ContentFileInfo{Mode: 0o644}
		}
		c.FileInfo.MTime, c.FileInfo.Owner, c.FileInfo.Group = r.at, "root", "root"
	}
	script := func(name string) string { return filepath.Join(deploy, "package", name) }
	return &nfpm.Info{
		Name:        "contactbase",
		Arch:        t.machine,
		Platform:    t.system,
		Version:     r.version,
		Section:     "net",
		Priority:    "optional",
		Maintainer:  "The Contactbase authors <noreply@example.com>",
		Description: "The public contacts API of a CRM\nA database, a REST API, signed webhooks and a dashboard in one file.",
		License:     "MIT",
		MTime:       r.at,
		Overridables: nfpm.Overridables{
			Recommends: []string{"ca-certificates"}, // for webhooks by https
			Contents:   contents,
			Scripts:    nfpm.Scripts{PostInstall: script("postinstall.sh"), PreRemove: script("preremove.sh"), PostRemove: script("postremove.sh")},
			RPM:        nfpm.RPM{BuildHost: "reproducible"},
		},
	}
}
