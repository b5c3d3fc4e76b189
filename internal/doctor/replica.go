package doctor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"contactbase/internal/replica"
)

// drillAge is how old the last drill may be: there is one every night.
const drillAge = 3 * 24 * time.Hour

// replica asks the process that serves the folder, if any, how its replica is. A folder that was never replicated has no finding.
func (x *examination) replica(ctx context.Context) error {
	const check, advice = "replica", "see docs/growing.md; contactbase replica status says more"
	status, err := replica.AskStatus(ctx, x.dir)
	if errors.Is(err, replica.ErrNotServed) {
		return nil
	}
	if err != nil {
		return err
	}
	fault := status.Within()
	switch {
	case fault != nil:
		x.add(check, Failed, fault.Error(), advice)
	case status.Drill != nil && x.now.Sub(status.Drill.At) > drillAge:
		x.add(check, Warning, "the last drill was on "+status.Drill.At.Format(time.DateOnly), "contactbase replica drill")
	default:
		x.add(check, OK, fmt.Sprintf("it is %s, and %.0f seconds behind", status.State, status.LagSeconds), "")
	}
	return nil
}
