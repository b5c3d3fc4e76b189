package extension

import (
	"errors"
	"regexp"
	"strconv"
)

// ErrTooLong is the reason why a hook in JavaScript was interrupted.
var ErrTooLong = errors.New("was interrupted, because all other writes waited for it for " + Longest.String())

// ErrTooDeep is the reason why a hook in JavaScript did not run.
var ErrTooDeep = errors.New("did not run, because hooks call each other without end")

// Failure is an error in the code of an extension.
type Failure struct {
	File string
	Line int // 0 if unknown
	Err  error

	Logged bool
}

// position matches a line in the stack of an error in JavaScript.
var position = regexp.MustCompile(`\bpb\.js:(\d+):\d+`)

// Locate sets the line from the stack of an error, if that is known and the line is not.
func (f *Failure) Locate(stack string) {
	if found := position.FindStringSubmatch(stack); found != nil && f.Line == 0 {
		f.Line, _ = strconv.Atoi(found[1])
	}
}

// Error returns the place and the error.
func (f *Failure) Error() string { return f.Place() + ": " + f.Err.Error() }

// Unwrap returns the error.
func (f *Failure) Unwrap() error { return f.Err }

// Place returns the file, and the line if it is known.
func (f *Failure) Place() string {
	if f.Line == 0 {
		return f.File
	}
	return f.File + ":" + strconv.Itoa(f.Line)
}
