package migrations

import "github.com/pocketbase/pocketbase/core"

// The audit log: who changed what, and when. `tenant` is no relation, because entries outlive their tenant and do
// not move with it.
//
// Triggers refuse every change of an entry, in every process on the data directory. Only retention deletes entries:
// those before the time in `_auditPruning`, which has a row only inside its transactions. REPLACE would delete an
// entry without calling a trigger, so an id is never inserted again.
func init() {
	create("1760000026_audit_log.go", func(core.App) (*core.Collection, error) {
		c := core.NewBaseCollection("audit_log")
		c.Fields.Add(
			&core.TextField{Name: "tenant"},
			&core.TextField{Name: "actorKind"},
			&core.TextField{Name: "actor"},
			&core.TextField{Name: "actorName", Presentable: true},
			&core.TextField{Name: "action", Presentable: true},
			&core.TextField{Name: "collection"},
			&core.TextField{Name: "record"},
			&core.JSONField{Name: "fields"},
			&core.AutodateField{Name: "created", OnCreate: true},
		)
		c.AddIndex("idx_audit_log_tenant", false, "`tenant`, `id`", "")
		c.AddIndex("idx_audit_log_created", false, "`created`", "")
		c.AddIndex("idx_audit_log_actor", false, "`actor`, `id`", "`actor` != ''")
		c.AddIndex("idx_audit_log_rotated", false, "`record`", "`action` = 'rotated'")
		return c, nil
	},
		"CREATE TABLE `_auditPruning` (`before` TEXT NOT NULL)",
		"CREATE TRIGGER `audit_log_insert` BEFORE INSERT ON `audit_log` WHEN EXISTS (SELECT 1 FROM `audit_log` WHERE `id` = NEW.`id`) BEGIN "+
			"SELECT RAISE(ABORT, 'the audit log cannot be changed'); END",
		"CREATE TRIGGER `audit_log_update` BEFORE UPDATE ON `audit_log` BEGIN SELECT RAISE(ABORT, 'the audit log cannot be changed'); END",
		"CREATE TRIGGER `audit_log_delete` BEFORE DELETE ON `audit_log` "+
			"WHEN NOT EXISTS (SELECT 1 FROM `_auditPruning` WHERE OLD.`created` < `before`) BEGIN "+
			"SELECT RAISE(ABORT, 'the audit log cannot be changed'); END",
	)
}
