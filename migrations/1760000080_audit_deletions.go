package migrations

// An index finds the entry of a record's deletion, which has its last name.
func init() {
	addIndex("1760000080_audit_deletions.go", "audit_log", "idx_audit_log_deleted", "`record`", "`action` = 'deleted'")
}
