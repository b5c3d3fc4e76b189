package body

import (
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// overhead is what the collector may leave beyond the bodies in memory and what was in use before them, in bytes:
// decoded values, and garbage. With it, 737 bodies at once took 130 MiB more than before them, instead of 330.
const overhead = 40 << 20

// collector makes garbage collection more frequent while large bodies are in memory. The garbage of decoding them would
// otherwise take several times what is in use.
var collector struct {
	sync.Mutex
	users int
	usual int64 // the memory limit without large bodies
}

// hurryCollector lowers the memory limit of the process until the returned function is called.
func hurryCollector(memory int64) (end func()) {
	c := &collector
	c.Lock()
	defer c.Unlock()
	if c.users++; c.users == 1 {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		c.usual = debug.SetMemoryLimit(-1)
		debug.SetMemoryLimit(min(c.usual, int64(live[0].Value.Uint64())+memory+overhead))
	}
	return func() {
		c.Lock()
		defer c.Unlock()
		if c.users--; c.users == 0 {
			debug.SetMemoryLimit(c.usual)
		}
	}
}
