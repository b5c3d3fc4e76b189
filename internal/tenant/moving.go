package tenant

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/router"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// State says whether a tenant is moving between installations. The database refuses writes to a moving tenant.
type State string

// The states.
const (
	Open     State = ""
	Frozen   State = "frozen"   // closed for writes; nothing is sent
	Arriving State = "arriving" // being imported; not served yet
)

// ErrMoving is the error of a request to a tenant that is closed for writes.
var ErrMoving = &fault.Error{
	Code: fault.TenantMoving, RetryAfter: 5 * time.Second,
	Message: "The tenant is moving to another installation. Nothing was written; try again shortly.",
}

// Writable returns ErrMoving unless the tenant accepts writes, and its events are sent.
func (s State) Writable() error {
	if s != Open {
		return ErrMoving
	}
	return nil
}

// Readable returns ErrMoving unless the tenant is served.
func (s State) Readable() error {
	if s == Arriving {
		return ErrMoving
	}
	return nil
}

// Writable is State.Writable of a stored tenant.
func Writable(tx sqlite.Reader, id string) error {
	state, err := StateOf(tx, id)
	if err != nil {
		return err
	}
	return state.Writable()
}

// WritableSQL is State.Writable as an SQL condition. The tenant is an expression.
func WritableSQL(tenant string) string {
	return "NOT EXISTS (SELECT 1 FROM `_moves` `m` WHERE `m`.`tenant` = " + tenant + ")"
}

// StateSQL returns the SQL expression for the state of a tenant, which is an expression.
func StateSQL(tenant string) string {
	return "coalesce((SELECT `m`.`state` FROM `_moves` `m` WHERE `m`.`tenant` = " + tenant + "), '')"
}

// refusal is the error of the database's triggers.
const refusal = "tenant_moving"

// IsMoving reports whether a write failed because the tenant is moving. PocketBase's own errors keep their cause
// outside the chain of wrapped errors.
func IsMoving(err error) bool {
	var routed *router.ApiError
	if errors.As(err, &routed) {
		if cause, ok := routed.RawData().(error); ok && IsMoving(cause) {
			return true
		}
	}
	return errors.Is(err, ErrMoving) || sqlite.IsRefused(err, refusal)
}

// StateOf returns the state of a tenant.
func StateOf(tx sqlite.Reader, id string) (state State, err error) {
	state, err = sqlite.Value[State](tx, "SELECT `state` FROM `_moves` WHERE `tenant` = ?", id)
	if err != nil {
		return "", fmt.Errorf("reading whether the tenant %s moves: %w", id, err)
	}
	return state, nil
}

// States returns the states of all tenants that are not open, by id.
func States(app core.App) (map[string]State, error) {
	states := map[string]State{}
	const statesSQL = "SELECT `tenant`, `state` FROM `_moves`"
	err := sqlite.Each(sqlite.Direct(app.ConcurrentDB()), statesSQL, func(rows *sql.Rows) error {
		var id string
		var state State
		err := rows.Scan(&id, &state)
		states[id] = state
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading which tenants move: %w", err)
	}
	return states, nil
}

// pageLasts is the longest pause between two parts of a file that is being uploaded.
const pageLasts = time.Minute

// importingSQL reports whether contacts of the tenant ?1 are being imported, or part of a file has been
// uploaded since ?2.
const importingSQL = "SELECT EXISTS (SELECT 1 FROM `_imports` " +
	"WHERE `tenant` = ?1 AND (`status` IN ('checking', 'running', 'undoing') OR `status` = 'storing' AND `updated` > ?2))"

// Freeze closes a tenant for writes in the caller's transaction, and reports whether it was open. Fan out pending
// events in the same transaction first.
func Freeze(tx core.App, id string) (changed bool, err error) {
	state, err := StateOf(sqlite.ReaderOf(tx), id)
	if err != nil || state == Frozen {
		return false, err
	}
	if state == Arriving {
		return false, errors.New(
			"the tenant has not completely arrived: continue its import with contactbase tenant import --resume",
		)
	}
	busy, err := sqlite.Value[bool](sqlite.ReaderOf(tx), importingSQL, id, stamp.Stored(time.Now().Add(-pageLasts)))
	if err != nil {
		return false, fmt.Errorf("looking for imports of the tenant %s: %w", id, err)
	}
	if busy {
		return false, errors.New("an import of contacts is running: wait until it is done, or cancel it")
	}
	inserted, err := sqlite.Exec(tx,
		"INSERT INTO `_moves` (`tenant`, `state`, `created`) SELECT `id`, ?2, ?3 FROM `tenants` WHERE `id` = ?1",
		id, string(Frozen), stamp.Stored(time.Now()))
	if err == nil && inserted == 0 {
		err = errors.New("it was deleted")
	}
	if err == nil {
		err = Guard(tx)
	}
	if err != nil {
		return false, fmt.Errorf("freezing the tenant %s: %w", id, err)
	}
	return true, nil
}

// Unfreeze opens a tenant for writes again, and reports whether it was closed.
func Unfreeze(app core.App, id string) (changed bool, err error) {
	err = app.RunInTransaction(func(tx core.App) error {
		state, err := StateOf(sqlite.ReaderOf(tx), id)
		if err != nil {
			return err
		}
		if state == Arriving {
			return errors.New("the tenant has not completely arrived: " +
				"continue its import with contactbase tenant import --resume, or delete the tenant")
		}
		changed = state == Frozen
		if _, err := sqlite.Exec(tx, "DELETE FROM `_moves` WHERE `tenant` = ?", id); err != nil {
			return err
		}
		return Guard(tx)
	})
	if err != nil {
		return false, fmt.Errorf("opening the tenant %s: %w", id, err)
	}
	return changed, nil
}

// ToDrain returns the frozen tenants that may still have deliveries in flight.
func ToDrain(tx sqlite.Reader) ([]string, error) {
	ids, err := sqlite.Values[string](tx, "SELECT `tenant` FROM `_moves` WHERE `state` = 'frozen' AND `step` = 0")
	if err != nil {
		return nil, fmt.Errorf("looking for frozen tenants with deliveries in flight: %w", err)
	}
	return ids, nil
}

// Drained returns the statement that records that a frozen tenant has no more deliveries in flight.
func Drained(id string) sqlite.Statement {
	return sqlite.Statement{
		Text: "UPDATE `_moves` SET `step` = 1 WHERE `tenant` = ? AND `state` = 'frozen' AND `step` = 0",
		Args: []any{id},
	}
}
