package openapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	v3 "github.com/pb33f/libopenapi/datamodel/high/v3"
)

// errorCodes has the codes that extensions of the document list for a response. A schema for each response could list
// them, too, but generated clients would then have a type of errors for each response.
type errorCodes struct {
	Codes  []string            // x-error-codes: the values of error.code
	Fields map[string][]string // x-field-codes: the codes of fields, by the error's code, if the error always has fields
}

func errorCodesOf(described *v3.Response) (codes errorCodes, err error) {
	for name, target := range map[string]any{"x-error-codes": &codes.Codes, "x-field-codes": &codes.Fields} {
		if node := described.Extensions.GetOrZero(name); node != nil {
			if err := node.Decode(target); err != nil {
				return codes, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return codes, nil
}

// checkErrorCodes checks the codes of an error. Other bodies have none.
func checkErrorCodes(described *v3.Response, body []byte) []string {
	codes, err := errorCodesOf(described)
	if err != nil {
		return []string{"the document: " + err.Error()}
	}
	var answer struct {
		Error struct {
			Code   string
			Fields map[string]struct{ Code string }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil || codes.Codes == nil {
		return nil
	}
	code, fields := answer.Error.Code, answer.Error.Fields
	if !slices.Contains(codes.Codes, code) {
		return []string{fmt.Sprintf("response body: $.error.code: %q is none of %q", code, codes.Codes)}
	}
	allowed, listed := codes.Fields[code]
	if !listed {
		return nil
	}
	if len(fields) == 0 {
		return []string{"response body: $.error: missing property 'fields', which " + code + " has"}
	}
	var faults []string
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if !slices.Contains(allowed, fields[name].Code) {
			faults = append(faults, fmt.Sprintf("response body: $.error.fields.%s.code: %q is none of %q",
				name, fields[name].Code, allowed))
		}
	}
	return faults
}
