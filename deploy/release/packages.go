package main

import (
	"io"
	"io/fs"
	"os"
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
		contents, err := r.contents(t, binary)
		if err != nil {
			return err
		}
		info := nfpm.WithDefaults(r.describe(t, contents))
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

// contents are the files of a package.
func (r *release) contents(t target, binary string) (files.Contents, error) {
	deploy := filepath.Join(r.root, "deploy")
	all := files.Contents{
		{Source: binary, Destination: "/usr/bin/contactbase", FileInfo: &files.ContentFileInfo{Mode: 0o755}},
		{Source: filepath.Join(deploy, "package", "contactbase-admin"), Destination: "/usr/sbin/contactbase-admin"},
		{Source: filepath.Join(deploy, "systemd", "contactbase.service"),
			Destination: "/usr/lib/systemd/system/contactbase.service"},
		{Source: filepath.Join(deploy, "systemd", "contactbase.socket"),
			Destination: "/usr/lib/systemd/system/contactbase.socket"},
		{Source: filepath.Join(deploy, "systemd", "environment"), Destination: "/etc/contactbase/environment",
			Type: files.TypeConfigNoReplace, FileInfo: &files.ContentFileInfo{Mode: 0o600}},
	}
	for _, name := range r.papers {
		all = append(all, &files.Content{
			Source: filepath.Join(r.root, name), Destination: "/usr/share/doc/contactbase/" + name,
		})
	}
	for _, about := range r.attachments(t, binary) {
		all = append(all, &files.Content{Source: about.source, Destination: "/usr/share/doc/contactbase/" + about.name})
	}
	err := fs.WalkDir(os.DirFS(r.manual), ".", func(name string, file fs.DirEntry, err error) error {
		if err == nil && !file.IsDir() {
			all = append(all, &files.Content{Source: filepath.Join(r.manual, name), Destination: "/" + name})
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.FileInfo == nil {
			mode, err := modeOf(c.Source)
			if err != nil {
				return nil, err
			}
			c.FileInfo = &files.ContentFileInfo{Mode: mode}
		}
		c.FileInfo.MTime, c.FileInfo.Owner, c.FileInfo.Group = r.at, "root", "root"
	}
	return all, nil
}

// describe returns the metadata of a package, with its scripts for installation and removal.
func (r *release) describe(t target, contents files.Contents) *nfpm.Info {
	script := func(name string) string { return filepath.Join(r.root, "deploy", "package", name) }
	return &nfpm.Info{
		Name:        "contactbase",
		Arch:        t.machine,
		Platform:    t.system,
		Version:     r.version,
		Section:     "net",
		Priority:    "optional",
		Maintainer:  r.home.Maintainer,
		Homepage:    r.home.Homepage,
		Description: "The public contacts API of a CRM\nA database, a REST API, signed webhooks and a dashboard in one file.",
		License:     "MIT",
		MTime:       r.at,
		Overridables: nfpm.Overridables{
			Recommends: []string{"ca-certificates"}, // for webhooks by https
			Contents:   contents,
			Scripts: nfpm.Scripts{
				PostInstall: script("postinstall.sh"),
				PreRemove:   script("preremove.sh"), PostRemove: script("postremove.sh"),
			},
			RPM: nfpm.RPM{BuildHost: "reproducible"},
		},
	}
}
