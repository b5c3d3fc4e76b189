package tenant

import (
	"fmt"
	"strings"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
)

// Triggers on contacts refuse writes of moving tenants. They exist only while a tenant moves. With a trigger, SQLite
// keeps the original of every page that an insert changes, and a batch takes half as long again. Other tables, which
// are written less, always have theirs.
var guards = map[string]string{"INSERT": "NEW", "UPDATE": "OLD", "DELETE": "OLD"}

func guardName(event string) string { return "_moves_contacts_" + strings.ToLower(event) }

// Guard creates the triggers if any tenant is moving, and otherwise drops them. Call it in each transaction that
// starts or ends a move.
func Guard(tx core.App) error {
	reader := sqlite.ReaderOf(tx)
	wanted, err := sqlite.Value[bool](reader, "SELECT EXISTS (SELECT 1 FROM `_moves`)")
	if err != nil {
		return fmt.Errorf("looking for moving tenants: %w", err)
	}
	there, err := sqlite.Value[bool](reader,
		"SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE `type` = 'trigger' AND `name` = ?)", guardName("INSERT"))
	if err != nil {
		return fmt.Errorf("looking for moving tenants: %w", err)
	}
	if wanted == there {
		return nil
	}
	for event, row := range guards {
		change := "DROP TRIGGER `" + guardName(event) + "`"
		if wanted {
			change = fmt.Sprintf("CREATE TRIGGER `%s` BEFORE %s ON `contacts` "+
				"WHEN EXISTS (SELECT 1 FROM `_moves` WHERE `tenant` = %s.`tenant` AND `open` = 0) BEGIN "+
				"SELECT RAISE(ABORT, '%s'); END", guardName(event), event, row, refusal)
		}
		if _, err := tx.DB().NewQuery(change).Execute(); err != nil {
			return fmt.Errorf("guarding the contacts of moving tenants: %w", err)
		}
	}
	return nil
}
