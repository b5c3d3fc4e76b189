package credential

import "regexp"

// pattern finds keys and tokens wherever a caller has put them: in a mistyped address, a query, a header that is logged,
// also with the underscore encoded, however often.
var pattern = regexp.MustCompile(`cm[ik](?:_|%(?:25)*5[fF])[0-9A-Za-z]+`)

// Redact takes keys and tokens out of a text for a log.
func Redact(text string) string { return pattern.ReplaceAllString(text, "[redacted]") }
