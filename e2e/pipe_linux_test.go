package e2e

import (
	"context"
	"net/http"
	"os"
	"testing"
)

// A server continues when nobody reads its output any more, as after the end of a program that has collected it
// (influxdata/kapacitor#737).
func TestOutputIsClosed(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	address := freeAddress(t)
	command := i.command(context.Background(), "serve", "--http", address, "--dir", i.data)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	command.Stdout, command.Stderr = write, write
	collected := launch(t, command)
	_ = write.Close() // the server has its own
	s := &server{collected, "http://" + address, i}
	if !s.healthy() {
		t.Fatal("the server does not start")
	}
	if err := read.Close(); err != nil {
		t.Fatal(err)
	}
	c := s.client("nobody")
	for range 5 {
		if answer := c.do(http.MethodGet, contactsPath, ""); answer.status != http.StatusUnauthorized {
			t.Fatalf("the server answers %s", answer)
		}
	}
	s.stop()
}
