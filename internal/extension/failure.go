package extension

import (
	"errors"
	"strconv"
)

// ErrTooLong is the reason why a hook in JavaScript was interrupted.
var ErrTooLong = errors.New("was interrupted, because all other writes waited for it for " + Longest.String())

// Failure is an error in the code of an extension.
type Failure struct {
	File string
	Line int // 0 if unknown
	Err  error

	Logged bool
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
