package event

// Queries are those that read the feed, by what they return.
var Queries = map[string]string{"a page": pageSQL, "the end": endSQL}
