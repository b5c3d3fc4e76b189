package app

import (
	"cmp"

	"contactbase/internal/delivery"
)

// filesShare is the part of the process's file limit, as a divisor, that deliveries may take. A delivery in flight takes one file,
// and so does an idle connection; the rest is for requests and databases.
const filesShare = 4

// inFlight returns how many deliveries may be in flight, given the setting and the process's file limit, 0 for none.
func inFlight(asked int, files uint64) int {
	asked = cmp.Or(asked, delivery.DefaultInFlight)
	if files == 0 {
		return asked
	}
	return max(1, int(min(uint64(asked), files/filesShare)))
}
