package recordid

import (
	"database/sql/driver"
	"time"

	"modernc.org/sqlite"
)

// Function is the SQL function that calls New, for a statement that inserts many rows.
const Function = "new_record_id()"

func init() {
	sqlite.MustRegisterScalarFunction("new_record_id", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		return New(time.Now()), nil
	})
}
