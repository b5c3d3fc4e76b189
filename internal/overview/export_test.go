package overview

// What the tests look into.
var (
	CountOf         = countOf
	DeliveriesAmong = deliveriesAmong
)
