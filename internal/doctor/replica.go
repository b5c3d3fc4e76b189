package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"contactbase/internal/replica"
)

// restoreTestAge is how old the last restore test may be. There is one every night.
const restoreTestAge = 3 * 24 * time.Hour

// replica asks the process that serves the data directory, if any, about its replica. A data directory that was never
// replicated has no finding.
func (x *examination) replica(ctx context.Context) error {
	const check, advice = "replica", "see docs/growing.md; contactbase replica status has the details"
	status, err := replica.RequestStatus(ctx, x.dir)
	if errors.Is(err, replica.ErrNotServed) {
		return nil
	}
	if err != nil {
		return err
	}
	fault := status.Err()
	switch {
	case fault != nil:
		x.add(check, Failed, fault.Error(), advice)
	case status.RestoreTest != nil && x.now.Sub(status.RestoreTest.At) > restoreTestAge:
		x.add(check, Warning, "the last restore test was on "+status.RestoreTest.At.Format(time.DateOnly),
			"contactbase replica drill")
	default:
		x.add(check, OK, fmt.Sprintf("it is %s, and %.0f seconds behind", status.State, status.LagSeconds), "")
	}
	return nil
}
