package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// target is a system that Go builds for.
type target struct{ system, machine string } // as GOOS and GOARCH have them

func (t target) String() string { return t.system + "/" + t.machine }

// executable is the name of the program on the system.
func (t target) executable() string {
	if t.system == "windows" {
		return "contactbase.exe"
	}
	return "contactbase"
}

// name returns the name of the files for a system, without their extension.
func (r *release) name(t target) string {
	return fmt.Sprintf("contactbase_%s_%s_%s", r.version, t.system, t.machine)
}

// build builds the program for a system into a temporary directory, and returns its path. Nothing in it depends on
// this machine: no path, no time, and no compiler settings from the environment.
func (r *release) build(ctx context.Context, t target) (string, error) {
	folder, err := os.MkdirTemp("", "contactbase-release-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(folder, t.executable())
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags",
		"-s -w -X main.version="+r.version, "-o", path, ".")
	command.Dir = r.root
	command.Env = append(os.Environ(), "GOOS="+t.system, "GOARCH="+t.machine,
		"CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOWORK=off")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, out)
	}
	return path, nil
}
