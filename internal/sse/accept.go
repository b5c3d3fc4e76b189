package sse

import (
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// json is the media type of responses that are not streams.
const json = "application/json"

// maxAccept is how long the Accept headers are at most that are read, in bytes: net/http reads up to 1 MiB.
const maxAccept = 8 << 10

// IsPreferred reports whether a request prefers a stream to JSON: its Accept headers contain the media type of
// streams with a quality that is above 0, and not below that of JSON. A range such as */* does not request a stream,
// and neither do headers of more than maxAccept bytes.
func IsPreferred(header http.Header) bool {
	qualities, left := map[string]float64{}, maxAccept
	for _, value := range header.Values("Accept") {
		if left -= len(value); left < 0 {
			return false
		}
		for _, element := range splitList(value) {
			kind, parameters, err := mime.ParseMediaType(element)
			if err != nil {
				continue
			}
			quality := 1.0
			if q, there := parameters["q"]; there {
				if quality, err = strconv.ParseFloat(q, 64); err != nil || math.IsNaN(quality) || quality > 1 {
					continue
				}
			}
			qualities[kind] = max(qualities[kind], quality)
		}
	}
	for _, kind := range []string{json, "application/*", "*/*"} { // from the most specific range
		if quality, named := qualities[kind]; named {
			return qualities[MediaType] > 0 && qualities[MediaType] >= quality
		}
	}
	return qualities[MediaType] > 0
}

// splitList splits the elements of a header at its commas, except those in a quoted string.
func splitList(value string) []string {
	isQuoted, isEscaped := false, false
	return strings.FieldsFunc(value, func(c rune) bool {
		switch {
		case isEscaped:
			isEscaped = false
		case isQuoted && c == '\\':
			isEscaped = true
		case c == '"':
			isQuoted = !isQuoted
		}
		return c == ',' && !isQuoted
	})
}
