package replica

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/superfly/ltx"
)

// Position is the last transaction of a generation that a database contains. It includes all earlier positions,
// unless an operator has accepted a loss between them.
type Position struct {
	Generation  int64
	Transaction ltx.TXID
}

// String returns the position as generation/transaction, for example 2/500.
func (p Position) String() string { return fmt.Sprintf("%d/%d", p.Generation, uint64(p.Transaction)) }

// MarshalText implements encoding.TextMarshaler.
func (p Position) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Position) UnmarshalText(text []byte) error {
	generation, transaction, _ := strings.Cut(string(text), "/")
	var err error
	p.Generation, err = strconv.ParseInt(generation, 10, 64)
	number, numberErr := strconv.ParseUint(transaction, 10, 64)
	p.Transaction = ltx.TXID(number)
	if err != nil || numberErr != nil {
		return fmt.Errorf("%q is not a position such as 2/500", text)
	}
	return nil
}

func (p Position) before(q Position) bool {
	return cmp.Or(cmp.Compare(p.Generation, q.Generation), cmp.Compare(p.Transaction, q.Transaction)) < 0
}

// Loss is a range of acknowledged writes that an operator accepts to lose, the value of a flag such as
// 1/57..2/500. It applies only once, because it ends at the last acknowledged position, and the next holder
// acknowledges later ones.
type Loss struct {
	From Position `json:"from"`
	To   string   `json:"to"` // as lossError.to returns it
}

// Set implements pflag.Value.
func (l *Loss) Set(text string) error {
	from, to, isRange := strings.Cut(text, "..")
	if !isRange {
		return fmt.Errorf("%q is not a range of positions such as 1/57..2/500: copy the value from the error message", text)
	}
	var position Position
	if err := position.UnmarshalText([]byte(from)); err != nil {
		return err
	}
	if position.Generation < 1 {
		return fmt.Errorf("%q is not a position: the first generation is 1", from)
	}
	*l = Loss{position, to}
	return nil
}

// String implements pflag.Value.
func (l *Loss) String() string {
	if l.From.Generation == 0 {
		return ""
	}
	return l.From.String() + ".." + l.To
}

// Type implements pflag.Value.
func (l *Loss) Type() string { return "positions" }

// The subjects of a lossError.
const (
	theReplica       = "the replica"
	theDataDirectory = "the data directory"
	otherData        = "this data directory is new, restored from a backup, or of another installation"
)

// lossError is the error of a database that lacks acknowledged writes.
type lossError struct {
	where        string   // theReplica, otherData, or a text that ends with theDataDirectory
	found        Position // where that ends; zero if nothing can be restored
	acknowledged Position // the last acknowledged position; zero if it is unknown
	unshipped    uint64   // acknowledged commits after that position that the store never received
}

// newLoss returns the loss of everything that a store has, given its lock record and its last position.
func newLoss(found lockRecord, stored Position) *lossError {
	if found.Generation == 0 {
		return &lossError{} // lock.json was lost
	}
	return &lossError{acknowledged: stored, unshipped: found.Unshipped}
}

// to returns the end of the range that is lost, for the flag.
func (e *lossError) to() string {
	switch {
	case e.acknowledged.Generation == 0:
		return ""
	case e.unshipped > 0:
		return fmt.Sprintf("%s+%d", e.acknowledged, e.unshipped)
	default:
		return e.acknowledged.String()
	}
}

// Error implements error.
func (e *lossError) Error() string {
	accept := fmt.Sprintf("or accept the loss with --replicaAcceptLoss=%s..%s", e.found, e.to())
	where := e.where
	switch {
	case where == otherData:
	case e.found.Generation == 0:
		where += " contains nothing that can be restored"
		accept = "or check the bucket and folder of --replica and the credentials" // there is no position to accept
	default:
		where += " ends at " + e.found.String()
	}
	return fmt.Sprintf("%s, but %s: %s, %s", where, e.expected(), e.remedy(), accept)
}

// expected says which writes there should be.
func (e *lossError) expected() string {
	switch unshipped := "the last machine to serve stopped before %d transactions reached the replica"; {
	case e.unshipped > 0 && e.acknowledged.Generation > 0:
		return fmt.Sprintf(unshipped+" (%s)", e.unshipped, e.to())
	case e.unshipped > 0:
		return fmt.Sprintf(unshipped, e.unshipped)
	case e.acknowledged.Generation > 0:
		return fmt.Sprintf("writes up to %s were acknowledged", e.acknowledged)
	default:
		return "the last acknowledged position is unknown because " + lockName + " is missing from the store"
	}
}

// remedy says how to get these writes back.
func (e *lossError) remedy() string {
	const restore = "restore the replica into a new directory with contactbase replica restore"
	switch {
	case e.where == otherData:
		return "if you restored a backup, replicate to another location; otherwise " + restore
	case e.where != theReplica:
		return restore + ", replicate to another location"
	case e.unshipped > 0:
		return "start that machine again"
	default:
		return "start the machine that served last"
	}
}

// unlessAccepted returns nil if the operator has accepted this loss, or a larger one up to the same
// position, and e otherwise.
func (e *lossError) unlessAccepted(l Loss) error {
	if l.From.Generation > 0 && !e.found.before(l.From) && l.To == e.to() {
		return nil
	}
	return e
}
