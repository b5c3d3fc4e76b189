package e2e

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"contactbase/internal/testenv"
)

// Rounds of SIGTERM at random moments under the load of the crash loop: the program exits with 0, and accepted
// requests have responses and deliveries. In some rounds a receiver hangs and a client sends half a request, and the
// program must give up on both.
func TestShutdownLoop(t *testing.T) {
	t.Parallel()
	c := newCrew(t)
	rounds := crashRounds(t, 2, 4)
	var longest time.Duration
	for round := range rounds {
		stuck := round%8 == 0
		if !stuck {
			c.release()
		}
		s := c.serve()
		wait := c.start(s)
		if stuck {
			c.close()
			c.await(20)
			c.awaitHeld(t)
			sendHalf(t, s, c.key)
		}
		c.await(1 + rand.IntN(150))
		took := terminate(s)
		wait()
		longest = max(longest, took)
	}
	t.Logf("%d rounds of SIGTERM, the longest takes %s; %d answers", rounds, longest.Round(time.Millisecond), c.answers)
	sheet := c.settle()
	if sheet.unheard > 0 || c.replays > 0 {
		t.Errorf("%d requests were executed without a response", sheet.unheard+c.replays)
	}
}

// terminate stops the server, which must exit with 0, and returns how long that takes.
func terminate(s *server) time.Duration {
	s.t.Helper()
	began := time.Now()
	s.stop()
	return time.Since(began)
}

// sendHalf opens a connection, and sends an incomplete request.
func sendHalf(t *testing.T, s *server, key string) {
	t.Helper()
	connection, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	_, err = fmt.Fprintf(connection, "POST %s HTTP/1.1\r\nHost: test\r\nX-API-Key: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", contactsPath, key)
	if err != nil {
		t.Fatal(err)
	}
}

// A signal at any moment of the start ends the program cleanly, unless it arrives before the program handles signals.
func TestSignalsDuringTheStart(t *testing.T) {
	t.Parallel()
	i := newInstallation(t).superuser()
	began := time.Now()
	i.serve().stop()
	takes := time.Since(began)
	signals := testenv.Count(10, 30)
	for n := range signals {
		s := i.serveAt("127.0.0.1:0")
		// a moment of the start, on this machine at its present load
		time.Sleep(takes * time.Duration(n) / time.Duration(signals))
		if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		select {
		case <-s.ended:
		case <-time.After(timeout):
			t.Fatalf("the program does not end:\n%s", s.output)
		}
		printed := s.output.String()
		if status := s.command.ProcessState.Sys().(syscall.WaitStatus); status.Signaled() && printed == "" {
			continue
		}
		if s.failure != nil || strings.Contains(printed, "panic") {
			t.Errorf("the program ends with %v:\n%s", s.failure, printed)
		}
	}
}
