package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"contactbase/internal/fault"
)

func TestError(t *testing.T) {
	t.Parallel()
	err := &fault.Error{Code: fault.Unavailable, Message: "Try again.", Cause: io.ErrUnexpectedEOF}
	if got := err.Error(); got != "Try again. (unexpected EOF)" {
		t.Errorf("the error is worded %q", got)
	}
	wrapped := fmt.Errorf("reading: %w", err)
	var found *fault.Error
	if !errors.As(wrapped, &found) || found != err || !errors.Is(wrapped, io.ErrUnexpectedEOF) {
		t.Errorf("%v hides what it wraps", wrapped)
	}
	if got := fault.New(fault.NotFound, "Nothing.").Error(); got != "Nothing." {
		t.Errorf("an error without a cause is worded %q", got)
	}
}

// Fields are listed in a fixed order.
func TestFields(t *testing.T) {
	t.Parallel()
	fields := fault.Fields{"phone": {Message: "is none"}, "email": {Message: "is too long"}}
	if got := fields.Error(); got != "email: is too long; phone: is none" {
		t.Errorf("the fields are worded %q", got)
	}
}
