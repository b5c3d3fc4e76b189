package home

import (
	"net"
	"net/http"
	"os/exec"
	"testing"
	"time"
)

// start starts a program in a directory until the test ends, and waits until it answers at the URL.
func start(t *testing.T, folder, url string, command ...string) {
	t.Helper()
	program := exec.CommandContext(t.Context(), command[0], command[1:]...)
	program.Dir = folder
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = program.Wait() }) // the end of the test's context kills it
	await(t, url, func() bool {
		response, err := http.Get(url) //nolint:noctx // on this machine
		if err != nil {
			return false
		}
		return response.Body.Close() == nil && response.StatusCode == http.StatusOK
	})
}

// freeAddress returns an address of this machine at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return listener.Addr().String()
}

// await waits until a condition holds.
func await(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("timed out waiting for %s", what)
		}
	}
}
