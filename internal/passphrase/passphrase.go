// Package passphrase asks for passphrases on the terminal.
package passphrase

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"
)

// Ask prompts for a passphrase, twice if it is new. The error says so if there is no terminal, or once ctx ends.
func Ask(ctx context.Context, prompts io.Writer, isNew bool) (string, error) {
	terminal := int(os.Stdin.Fd())
	if !term.IsTerminal(terminal) {
		return "", errors.New("cannot prompt for the passphrase without a terminal: name a file with --passphraseFile")
	}
	ask := func(what string) (string, error) {
		fmt.Fprint(prompts, what)
		defer fmt.Fprintln(prompts)
		return readHidden(ctx, terminal)
	}
	passphrase, err := ask("Passphrase: ")
	if err != nil || !isNew {
		return passphrase, err
	}
	again, err := ask("Repeat the passphrase: ")
	if err == nil && again != passphrase {
		err = errors.New("the passphrases differ: try again")
	}
	return passphrase, err
}

// readHidden reads a line without echo. It restores the echo once ctx ends.
func readHidden(ctx context.Context, terminal int) (string, error) {
	before, err := term.GetState(terminal)
	if err != nil {
		return "", err
	}
	type line struct {
		text []byte
		err  error
	}
	typed := make(chan line, 1)
	go func() {
		text, err := term.ReadPassword(terminal)
		typed <- line{text, err}
	}()
	select {
	case read := <-typed:
		return string(read.text), read.err
	case <-ctx.Done():
		return "", errors.Join(errors.New("interrupted"), term.Restore(terminal, before))
	}
}
