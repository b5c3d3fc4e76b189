package testkit

import (
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
	connect = sqlite.ConnectThrough(sqlite.Normal, func(raw physical.Raw) driver.Conn {
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
