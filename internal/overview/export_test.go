package overview

var (
	CountOf        = countOf
	ScanDeliveries = scanDeliveries
)
