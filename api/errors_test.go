package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestErrorCodesAreExplained makes sure that a reader learns what to do about each code.
func TestErrorCodesAreExplained(t *testing.T) {
	t.Parallel()
	w := newWalker(t)
	for _, schema := range []string{"ErrorCode", "FieldErrorCode"} {
		explained := fmt.Sprint(w.resolve("#/components/schemas/" + schema + "/description"))
		for _, code := range w.codes(schema) {
			if !strings.Contains(explained, "`"+code+"`") {
				t.Errorf("the description of %s does not mention %s", schema, code)
			}
		}
	}
}

// TestErrorAnswers compares the codes that each response lists with all codes, its description and its examples.
func TestErrorAnswers(t *testing.T) {
	t.Parallel()
	w := newWalker(t)
	all, allOfFields := w.codes("ErrorCode"), w.codes("FieldErrorCode")
	listed := map[string]bool{}
	for name, response := range w.resolve("#/components/responses").(map[string]any) {
		response := response.(map[string]any)
		codes := texts(response["x-error-codes"])
		if isError := response["content"] != nil; isError != (len(codes) > 0) {
			t.Errorf("%s lists the codes %q, and whether it is an error is %v", name, codes, isError)
		}
		for _, code := range codes {
			listed[code] = true
			if !slices.Contains(all, code) {
				t.Errorf("%s lists %s, which is not in ErrorCode", name, code)
			}
			if !strings.Contains(fmt.Sprint(response["description"]), "`"+code+"`") {
				t.Errorf("the description of %s does not mention %s", name, code)
			}
		}
		fields, _ := response["x-field-codes"].(map[string]any)
		for code, ofFields := range fields {
			if !slices.Contains(codes, code) {
				t.Errorf("%s lists codes of fields for %s, which it does not have", name, code)
			}
			for _, ofField := range texts(ofFields) {
				if !slices.Contains(allOfFields, ofField) {
					t.Errorf("%s lists %s, which is not in FieldErrorCode", name, ofField)
				}
			}
		}
		w.checkErrorExamples(name, response, codes)
	}
	for _, code := range all {
		if !listed[code] {
			t.Errorf("no answer has the code %s", code)
		}
	}
}

// checkErrorExamples checks that the examples of an error have one of its codes.
func (w *walker) checkErrorExamples(name string, response map[string]any, codes []string) {
	content, _ := response["content"].(map[string]any)
	for mediaType, media := range content {
		for title, example := range media.(map[string]any)["examples"].(map[string]any) {
			fault := example.(map[string]any)["value"].(map[string]any)["error"].(map[string]any)
			if code := fmt.Sprint(fault["code"]); !slices.Contains(codes, code) {
				w.t.Errorf("the example %s of %s, %s, has the code %s", title, name, mediaType, code)
			}
		}
	}
}

// codes returns the values of a schema that is an enumeration.
func (w *walker) codes(schema string) []string {
	return texts(w.resolve("#/components/schemas/" + schema + "/enum"))
}

// texts returns a list of the document as texts.
func texts(list any) []string {
	items, _ := list.([]any)
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = fmt.Sprint(item)
	}
	return all
}
