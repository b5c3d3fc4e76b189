package e2e

import (
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// An interrupted command does not exit as if it had succeeded.
func TestInterruptedCommand(t *testing.T) {
	t.Parallel()
	for _, sent := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		t.Run(sent.String(), func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(sent) {
				t.Skip("a shell that runs the tests in the background makes every command ignore this signal")
			}
			i := newInstallation(t)
			i.must("tenant", "create", "Acme")
			pipe := filepath.Join(t.TempDir(), "contacts.csv")
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			command := i.command(t.Context(), "contact", "import", "Acme", pipe, "--dir="+i.data)
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			sheet, err := os.OpenFile(pipe, os.O_WRONLY, 0) // once the command reads it
			if err != nil {
				t.Fatal(err)
			}
			defer sheet.Close()
			ended := make(chan error, 1)
			go func() { ended <- command.Wait() }()
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for {
				select {
				case err := <-ended:
					if err == nil {
						t.Error("an import that was interrupted ends with 0")
					}
					return
				case <-tick.C:
					_ = command.Process.Signal(sent) // it may have ended
				}
			}
		})
	}
}

// An import that is interrupted while it is applied is cancelled, and no server continues it.
func TestInterruptedImport(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.must("tenant", "create", "Acme")
	sheet := filepath.Join(t.TempDir(), "contacts.csv")
	if err := os.WriteFile(sheet, []byte(sheetOf(10_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	db := openData(t, i.data)
	slowImports(t, db)
	command := i.command(t.Context(), "contact", "import", "Acme", sheet, "--column", "Nachname=name", "--dir="+i.data)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	await(t, "contacts", func() bool { return count(t, db, "SELECT count(*) FROM contacts") > 0 })
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); command.ProcessState.ExitCode() != 1 {
		t.Errorf("an interrupted import ends with %v", err)
	}
	if n := count(t, db, "SELECT count(*) FROM _imports WHERE status != 'cancelled'"); n > 0 || count(t, db, "SELECT count(*) FROM contacts") > 9_000 {
		t.Error("it is not cancelled")
	}
}

// A command that is interrupted while it reads a passphrase ends, and restores the echo of the terminal.
func TestInterruptedPassphrase(t *testing.T) {
	t.Parallel()
	i := newInstallation(t)
	i.must("tenant", "create", "Acme")
	terminal := openTerminal(t)
	command := i.command(t.Context(), "tenant", "export", "Acme", "acme.zip", "--dir="+i.data)
	command.Stdin = terminal
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	shows := func() bool {
		state, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return state.Lflag&unix.ECHO != 0
	}
	await(t, "a terminal that hides what is typed", func() bool { return !shows() })
	if err := command.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); command.ProcessState.ExitCode() != 1 {
		t.Errorf("an interrupted command ends with %v", err)
	}
	if !shows() {
		t.Error("the terminal still hides input")
	}
}

// openTerminal returns a pseudo-terminal.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	return terminal
}
