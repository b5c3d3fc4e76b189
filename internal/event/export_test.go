package event

// Queries are the queries of the feed, by what they return.
var Queries = map[string]string{"a page": pageSQL, "the end": endSQL}
