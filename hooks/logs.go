package hooks

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/pocketbase/pocketbase/core"
)

// credentialPattern finds keys and tokens wherever a caller has put them: in a mistyped address, a query, a header that
// is logged, also with the underscore encoded, however often.
var credentialPattern = regexp.MustCompile(`cm[ik](?:_|%(?:25)*5[fF])[0-9A-Za-z]+`)

// bindLogs keeps credentials out of the table of logs. Every entry passes here, whoever wrote it.
func bindLogs(app core.App) {
	app.OnModelCreate(core.LogsTableName).BindFunc(func(e *core.ModelEvent) error {
		entry, ok := e.Model.(*core.Log)
		if !ok {
			return e.Next()
		}
		entry.Message = redactCredentials(entry.Message)
		data, err := json.Marshal(entry.Data)
		if err != nil {
			return fmt.Errorf("reading the data of a log entry: %w", err)
		}
		if credentialPattern.Match(data) {
			entry.Data = nil
			if err := json.Unmarshal([]byte(redactCredentials(string(data))), &entry.Data); err != nil {
				return fmt.Errorf("redacting the data of a log entry: %w", err)
			}
		}
		return e.Next()
	})
}

func redactCredentials(text string) string {
	return credentialPattern.ReplaceAllString(text, "[redacted]")
}
