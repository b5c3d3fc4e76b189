package tenant

import (
	"fmt"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// The triggers that refuse writes to contacts of tenants that move are there while there are any. A trigger on a table has SQLite keep every page that
// an insert changes as it was: with them a batch takes half as long again. The other tables, which are written less, have theirs always.
var guards = map[string]string{"INSERT": "NEW", "UPDATE": "OLD", "DELETE": "OLD"}

func guardName(event string) string { return "_moves_contacts_" + strings.ToLower(event) }

// Guard has the database refuse writes to contacts of tenants that move as long as there are any. It is called in each transaction in which a tenant
// begins or ceases to move.
func Guard(tx core.App) error {
	reader := sqlite.ReaderOf(tx)
	wanted, err := sqlite.Value[bool](reader, "SELECT EXISTS (SELECT 1 FROM `_moves`)")
	if err != nil {
		return fmt.Errorf("looking for tenants that move: %w", err)
	}
	there, err := sqlite.Value[bool](reader, "SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE `type` = 'trigger' AND `name` = ?)", guardName("INSERT"))
	if err != nil {
		return fmt.Errorf("looking for tenants that move: %w", err)
	}
	if wanted == there {
		return nil
	}
	for event, row := range guards {
		change := "DROP TRIGGER `" + guardName(event) + "`"
		if wanted {
			change = fmt.Sprintf("CREATE TRIGGER `%s` BEFORE %s ON `contacts` WHEN EXISTS (SELECT 1 FROM `_moves` WHERE `tenant` = %s.`tenant` AND `open` = 0) BEGIN "+
				"SELECT RAISE(ABORT, '%s'); END", guardName(event), event, row, refusal)
		}
		if _, err := tx.DB().NewQuery(change).Execute(); err != nil {
			return fmt.Errorf("guarding the contacts of tenants that move: %w", err)
		}
	}
	return nil
}
