package replica

import "time"

var started = time.Now()
