package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// flood is as many creates as a server takes. They come from a process of their own, so that nobody waits for a turn among
// the goroutines that send them.
type flood struct {
	Base, Path, Tenant string // the tenant is for plain PocketBase
	Header             http.Header
	Connections        int
	Length             time.Duration
}

// start starts the process, and returns a function that waits for its end.
func (f flood) start() (wait func() error, err error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	order, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	command := exec.Command(executable, "-flood")
	command.Stdin, command.Stderr = strings.NewReader(string(order)), os.Stderr
	return command.Wait, command.Start()
}

// sendFlood is what that process does.
func sendFlood(order io.Reader) error {
	var f flood
	if err := json.NewDecoder(order).Decode(&f); err != nil {
		return err
	}
	loaded := run(f.Base, f.Header, f.Connections, f.Length, 0, create(f.Path, f.Tenant))
	if loaded.errors > 0 {
		return fmt.Errorf("%d errors, the first: %s", loaded.errors, loaded.firstError)
	}
	return nil
}
