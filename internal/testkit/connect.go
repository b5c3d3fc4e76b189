package testkit

import (
	"context"
	"database/sql/driver"
	"sync"

	"github.com/pocketbase/pocketbase/core"
	lite "modernc.org/sqlite"

	"contactbase/internal/sqlite"
	"contactbase/internal/sqlite/physical"
)

// ConnectCounting opens the databases as the program does. pages returns how many pages of data.db all connections have
// read so far, from their caches or from the file: the work of statements, on any machine. No statement may run
// meanwhile.
func ConnectCounting() (connect core.DBConnectFunc, pages func() (count int)) {
	var mu sync.Mutex
	var opened []lite.DBStatus
	connect = sqlite.ConnectWrapped(sqlite.Normal, func(raw physical.Raw) driver.Conn {
		mu.Lock()
		defer mu.Unlock()
		opened = append(opened, raw.(lite.DBStatus))
		return raw
	})
	return connect, func() (count int) {
		mu.Lock()
		defer mu.Unlock()
		for _, connection := range opened {
			for _, counter := range []lite.DBStatusOp{lite.DBStatusCacheHit, lite.DBStatusCacheMiss} {
				if read, _, err := connection.Status(counter, false); err == nil {
					count += read
				}
			}
		}
		return count
	}
}

// ConnectRecording opens the databases as the program does, and calls record with the text of each statement that a
// connection of data.db compiles.
func ConnectRecording(record func(text string)) core.DBConnectFunc {
	return sqlite.ConnectWrapped(sqlite.Normal, func(raw physical.Raw) driver.Conn {
		return recordingConnection{raw, record}
	})
}

type recordingConnection struct {
	physical.Raw
	record func(text string)
}

func (c recordingConnection) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.record(query)
	return c.Raw.PrepareContext(ctx, query)
}
