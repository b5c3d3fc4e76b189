package limit

import (
	"sync"
	"time"
)

// How many uploaded files are read at a time: each takes a processor and some memory.
const (
	tenantUploads = 2
	allUploads    = 4
)

// Uploads limits how many uploaded files are read at a time. The zero value is ready for use.
type Uploads struct {
	mu      sync.Mutex
	all     int
	tenants map[string]int // without zeros
}

// Begin counts a file that a tenant has uploaded, until end is called. The error is a fault if there are too many.
func (u *Uploads) Begin(tenant string) (end func(), err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.all == allUploads || u.tenants[tenant] == tenantUploads {
		return nil, rateLimited("Other files are being read.", time.Second)
	}
	if u.tenants == nil {
		u.tenants = map[string]int{}
	}
	u.all++
	u.tenants[tenant]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.all--
		if u.tenants[tenant]--; u.tenants[tenant] == 0 {
			delete(u.tenants, tenant)
		}
	}, nil
}
