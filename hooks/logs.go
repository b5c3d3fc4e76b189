package hooks

import (
	"encoding/json"
	"fmt"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/credential"
)

// bindLogs removes credentials from PocketBase's log table. Every entry passes here.
func bindLogs(app core.App) {
	app.OnModelCreate(core.LogsTableName).BindFunc(func(e *core.ModelEvent) error {
		entry, ok := e.Model.(*core.Log)
		if !ok {
			return e.Next()
		}
		entry.Message = credential.Redact(entry.Message)
		data, err := json.Marshal(entry.Data)
		if err != nil {
			return fmt.Errorf("reading the data of a log entry: %w", err)
		}
		if redacted := credential.Redact(string(data)); redacted != string(data) {
			entry.Data = nil
			if err := json.Unmarshal([]byte(redacted), &entry.Data); err != nil {
				return fmt.Errorf("redacting the data of a log entry: %w", err)
			}
		}
		return e.Next()
	})
}
