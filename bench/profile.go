package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// profileOf records a CPU profile of our server while a phase runs.
func profileOf(t *target, name string) (stop func()) {
	if *profile == "" || t.name != "ours" {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		response, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", debugAddress, max(1, int(*seconds))))
		if err != nil {
			return
		}
		defer response.Body.Close()
		file, err := os.Create(filepath.Join(*profile, strings.ReplaceAll(name, " ", "-")+".pprof"))
		if err != nil {
			return
		}
		defer file.Close()
		_, _ = io.Copy(file, response.Body)
	}()
	return func() { <-done }
}
