package credential

import "regexp"

// pattern finds keys and tokens in mistyped paths, queries and logged headers, however often the underscore is percent-encoded.
var pattern = regexp.MustCompile(`cm[ik](?:_|%(?:25)*5[fF])[0-9A-Za-z]+`)

// Redact replaces keys and tokens in a text for a log.
func Redact(text string) string { return pattern.ReplaceAllString(text, "[redacted]") }
