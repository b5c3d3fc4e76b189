package app

import (
	"cmp"

	"contactbase/internal/delivery"
)

// filesShare is which part of the files that the process may open deliveries may take. Each in flight takes one, and so may
// each connection that is kept for the next; the rest is for requests and the databases.
const filesShare = 4

// inFlight returns how many deliveries may be in flight where so many are asked for and the process may open so many
// files, 0 for any number.
func inFlight(asked int, files uint64) int {
	asked = cmp.Or(asked, delivery.DefaultInFlight)
	if files == 0 {
		return asked
	}
	return max(1, int(min(uint64(asked), files/filesShare)))
}
