package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// completions are where Debian and Fedora look for the scripts that complete commands, by shell.
var completions = map[string][]string{
	"bash": {"/usr/share/bash-completion/completions/contactbase"},
	"fish": {"/usr/share/fish/vendor_completions.d/contactbase.fish"},
	"zsh":  {"/usr/share/zsh/vendor-completions/_contactbase", "/usr/share/zsh/site-functions/_contactbase"},
}

// writeManual makes the program, built for this machine, write its manual pages and shell completions. The folder has
// them at the paths that the packages install.
func (r *release) writeManual(ctx context.Context) error {
	program, err := r.build(ctx, target{runtime.GOOS, runtime.GOARCH})
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(program)) }() // the system cleans its temporary files anyway
	say := func(args ...string) ([]byte, error) {
		command := exec.CommandContext(ctx, program, args...)
		command.Env = []string{fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.at.Unix())} // and no settings
		var complaint bytes.Buffer
		command.Stderr = &complaint
		out, err := command.Output()
		if err != nil {
			return nil, fmt.Errorf("contactbase %s: %w: %s", strings.Join(args, " "), err, &complaint)
		}
		return out, nil
	}
	pages := filepath.Join(r.manual, "/usr/share/man/man1")
	if _, err := say("man", pages); err != nil {
		return err
	}
	if err := compress(pages); err != nil {
		return err
	}
	for shell, paths := range completions {
		script, err := say("completion", shell)
		if err != nil {
			return err
		}
		for _, path := range paths {
			if err := put(filepath.Join(r.manual, path), script); err != nil {
				return err
			}
		}
	}
	return nil
}

// compress replaces the files of a folder by compressed ones.
func compress(folder string) error {
	files, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	for _, file := range files {
		path := filepath.Join(folder, file.Name())
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var compressed bytes.Buffer
		writer, err := gzip.NewWriterLevel(&compressed, gzip.BestCompression)
		if err != nil {
			return err
		}
		if _, err := writer.Write(content); err != nil {
			return err
		}
		if err := writer.Close(); err != nil {
			return err
		}
		if err := put(path+".gz", compressed.Bytes()); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

// put writes a file, in folders that it makes.
func put(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
