package e2e

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"contactbase/internal/testenv"
)

// The clients that an installation serves install as the page *Clients* and the READMEs say, and do their job.
func TestServedClients(t *testing.T) {
	t.Parallel()
	testenv.Long(t, "installs clients with npm, pip and go; clients.TestPack looks into them")
	i, _, key := newKey(t)
	s := i.serve()
	s.client(key).expect(http.StatusCreated, http.MethodPost, contactsPath, `{"name":"Ada Lovelace"}`)
	page := s.client("").expect(http.StatusOK, http.MethodGet, "/docs/clients", "").String()
	file := func(ending string) string {
		t.Helper()
		name := regexp.MustCompile(`clients/(contactbase-[\w.-]+` + regexp.QuoteMeta(ending) + `)`).FindStringSubmatch(page)
		if name == nil {
			t.Fatalf("the page names no client that ends with %s", ending)
		}
		return name[1]
	}
	s.client("").expect(http.StatusNotFound, http.MethodGet, "/docs/clients/contactbase-9.9.9.tgz", "")
	env := append(testEnv(), "BASE="+s.base, "KEY="+key, "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=-mod=mod",
		"npm_config_audit=false", "npm_config_fund=false", "npm_config_prefer_offline=true")
	run := func(t *testing.T, folder string, command ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), command[0], command[1:]...)
		c.Dir, c.Env = folder, env
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", command, err, out)
		}
		return string(out)
	}
	write := func(t *testing.T, folder, name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	finds := func(t *testing.T, out string) {
		t.Helper()
		if !strings.Contains(out, "found Ada Lovelace") {
			t.Errorf("the client prints %s", out)
		}
	}
	t.Run("npm", func(t *testing.T) {
		t.Parallel()
		if _, err := exec.LookPath("npm"); err != nil {
			lack(t, "there is no npm here")
		}
		folder := t.TempDir()
		write(t, folder, "package.json", `{"private":true,"type":"module"}`)
		run(t, folder, "npm", "install", "--silent", s.base+"/docs/clients/"+file(".tgz"))
		write(t, folder, "job.js", `import { Contactbase } from "contactbase";
import { verify } from "contactbase/webhook";
const client = new Contactbase({ url: process.env.BASE, key: process.env.KEY });
for await (const { name } of client.contacts.all()) console.log("found", name, typeof verify);
`)
		finds(t, run(t, folder, "node", "job.js"))
	})
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		folder := t.TempDir()
		archive := s.client("").expect(http.StatusOK, http.MethodGet, "/docs/clients/"+file("-go.zip"), "")
		write(t, folder, "client.zip", string(archive.body))
		write(t, folder, "go.mod", "module integrator\n\ngo 1.26.0\n")
		write(t, folder, "main.go", `package main

import (
	"context"
	"fmt"
	"log"
	"os"

	contactbase "contactbase/clients/go"
	_ "contactbase/clients/go/webhook"
)

func main() {
	client, err := contactbase.New(os.Getenv("BASE"), os.Getenv("KEY"))
	if err != nil {
		log.Fatal(err)
	}
	for contact, err := range client.Contacts.All(context.Background(), contactbase.ListOptions{}) {
		fmt.Println("found", contact.Name, err)
	}
}
`)
		if findTool(t, "unzip") == "" {
			t.Skip("there is no unzip here")
		}
		run(t, folder, "unzip", "-q", "client.zip")
		run(t, folder, "go", "mod", "edit", "-require=contactbase/clients/go@v0.0.0", "-replace=contactbase/clients/go=./contactbase-go")
		run(t, folder, "go", "mod", "tidy")
		finds(t, run(t, folder, "go", "run", "."))
	})
	t.Run("pip", func(t *testing.T) {
		t.Parallel()
		if _, err := os.Stat(debianPython); err != nil {
			lack(t, "there is no "+debianPython)
		}
		for name, install := range map[string][]string{
			"address": {s.base + "/docs/clients/" + file(".whl")},
			"README":  {"--no-index", "--find-links", s.base + "/docs/clients", "contactbase"},
		} {
			folder := t.TempDir()
			if out, err := exec.CommandContext(t.Context(), debianPython, "-m", "venv", folder).CombinedOutput(); err != nil {
				lack(t, "there is no venv here: "+string(out)) // python3-venv
			}
			run(t, folder, append([]string{"bin/pip", "install", "--quiet"}, install...)...)
			write(t, folder, "job.py", `import os
from contactbase import Contactbase
from contactbase.webhook import verify
for contact in Contactbase(url=os.environ["BASE"], key=os.environ["KEY"]).contacts.list(q="ada"):
    print("found", contact["name"], verify)
`)
			t.Log(name)
			finds(t, run(t, folder, "bin/python", "job.py"))
		}
		if readme := readText(t, "../clients/python/README.md"); !strings.Contains(readme, "pip install --no-index --find-links https://crm.example.com/docs/clients contactbase\n") {
			t.Error("the README installs the client in another way")
		}
	})
}
