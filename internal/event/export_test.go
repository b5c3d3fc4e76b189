package event

// Queries are the queries of the feed, by what they return.
var Queries = map[string]string{"a page": pageSQL, "the end": endSQL}

func (w *Watcher) MakeDue(tenants []string) { w.signal(tenants) }

func (w *Watcher) SignalDue() bool { return w.signalDue() }
