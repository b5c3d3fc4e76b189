package replica

import (
	"context"

	"contactbase/internal/replica/shipping"
)

// Acknowledge returns once everything that this process has committed may be acknowledged: in Sync mode once the store has it, and with a
// lease while this machine holds the lease. Without a replica it returns immediately. The error is ErrUnreplicated or ErrFenced.
func (r *Replica) Acknowledge(ctx context.Context) error {
	return r.acknowledge(ctx, (*shipping.Uploader).Wait)
}

// AcknowledgeAll is Acknowledge for the commits of all processes.
func (r *Replica) AcknowledgeAll(ctx context.Context) error {
	return r.acknowledge(ctx, (*shipping.Uploader).Flush)
}

func (r *Replica) acknowledge(ctx context.Context, replicated func(*shipping.Uploader, context.Context) error) error {
	if err := r.Holds(); err != nil || !r.IsSync() {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.config.Timeout)
	defer cancel()
	data, err := r.replication.data(ctx)
	if err != nil {
		return err
	}
	if err := replicated(data, ctx); err != nil {
		return err
	}
	return r.Holds() // a late upload may have arrived after the successor read the store
}
