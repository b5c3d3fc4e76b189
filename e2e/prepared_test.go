package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// prepared has data directories to copy: running the migrations and commands that make one takes
// longer than many tests.
type prepared struct {
	superuser, tenant, key string // directories, each with what the one before has
	tenantID, apiKey       string
}

var prepare = sync.OnceValues(func() (*prepared, error) {
	program, err := build()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(filepath.Dir(program), "prepared")
	p := &prepared{
		superuser: filepath.Join(dir, "superuser"), tenant: filepath.Join(dir, "tenant"), key: filepath.Join(dir, "key"),
	}
	run := func(data string, into any, args ...string) error {
		command := exec.Command(program, append(args, "--dir="+data)...)
		command.Dir, command.Env = filepath.Dir(program), testEnv()
		out, err := command.Output()
		if err != nil || into == nil {
			return err
		}
		return json.Unmarshal(out, into)
	}
	var tenant, key map[string]any
	err = run(p.superuser, nil, "superuser", "upsert", superuserEmail, superuserPassword)
	err = errors.Join(err, run(p.superuser, nil, "tenant", "list")) // which applies the migrations
	err = errors.Join(err, copyPrivate(p.superuser, p.tenant),
		run(p.tenant, &tenant, "tenant", "create", "Acme", "--json"))
	p.tenantID = fmt.Sprint(tenant["id"])
	err = errors.Join(err, copyPrivate(p.tenant, p.key),
		run(p.key, &key, "key", "create", p.tenantID, "--name", "website", "--json"))
	p.apiKey = fmt.Sprint(key["key"])
	if err != nil {
		return nil, fmt.Errorf("preparing data directories: %w", err)
	}
	return p, nil
})

// copyPrivate copies a directory with the permissions of its files.
func copyPrivate(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := to + path[len(from):]
		info, err := entry.Info()
		switch {
		case err != nil:
			return err
		case entry.IsDir():
			return os.MkdirAll(target, info.Mode().Perm())
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, info.Mode().Perm())
	})
}

// preparedFolders returns the directories to copy.
func preparedFolders(t *testing.T) *prepared {
	t.Helper()
	p, err := prepare()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newTenant returns an installation with a superuser and the tenant Acme, and the tenant's id.
func newTenant(t *testing.T) (i *installation, tenant string) {
	t.Helper()
	p := preparedFolders(t)
	return newInstallation(t).copyOf(p.tenant), p.tenantID
}

// newKey is newTenant with an API key of the tenant, named website.
func newKey(t *testing.T) (i *installation, tenant, key string) {
	t.Helper()
	p := preparedFolders(t)
	return newInstallation(t).copyOf(p.key), p.tenantID, p.apiKey
}

func (i *installation) copyOf(folder string) *installation {
	i.t.Helper()
	if err := copyPrivate(folder, i.data); err != nil {
		i.t.Fatal(err)
	}
	return i
}
