package routes

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"contactbase/internal/fault"
	"contactbase/internal/testkit/measure"
	"contactbase/routes/envelope"
)

// Items are counted as decoding finds them.
func TestMeasureBatch(t *testing.T) {
	t.Parallel()
	large := `{"contact":{"name":"` + strings.Repeat("a", maxContactBody) + `"}}`
	for body, want := range map[string]struct {
		items int
		code  fault.Code
	}{
		`{"items":[{},{},{}]}`:                  {3, ""},
		`{"items":[1,2],"items":[{}]}`:          {1, ""},
		`{"items":[1,2],"items":{"a":[1,2,3]}}`: {0, ""},
		`{"Items":[1],"atomic":[1,2]}`:          {0, ""},
		`{"atomic":true,"items":[]}`:            {0, ""},
		`{"items":[{},{`:                        {0, ""},
		`[{},{}]`:                               {0, ""},
		``:                                      {0, ""},
		`{"items":[` + strings.Repeat("1,", maxBatchItems-1) + `1]}`:  {maxBatchItems, ""},
		`{"items":[` + strings.Repeat("1,", maxBatchItems) + `1]}`:    {0, fault.ValidationFailed},
		`{"items":[{},` + large + `]}`:                                {0, fault.PayloadTooLarge},
		`{` + strings.Repeat(`"a":1,`, maxBatchProperties) + `"b":1}`: {0, fault.ValidationFailed},
	} {
		items, err := measureBatch([]byte(body))
		var f *fault.Error
		if errors.As(err, &f); f == nil && items != want.items || f == nil && want.code != "" || f != nil && f.Code != want.code {
			t.Errorf("%.60s has %d items, %v", body, items, err)
		}
		if object, invalid := envelope.DecodeObject([]byte(body)); invalid == nil && err == nil {
			if list, _ := object["items"].([]any); len(list) != items {
				t.Errorf("%.60s is decoded to %d items, counted %d", body, len(list), items)
			}
		}
	}
}

// Counting takes a few copies of the body, whatever is in it: buffers that grow. Decoding these takes ten times
// as much and more.
func TestMeasuringABatchTakesLittleMemory(t *testing.T) {
	properties := &strings.Builder{}
	for i := range 100_000 {
		properties.WriteString(`,"` + strconv.Itoa(i) + `":1`)
	}
	for name, body := range map[string]string{
		"small items": `{"items":[` + strings.Repeat(`{"a":1},`, 1<<17) + `{}]}`,
		"one item":    `{"items":[{"contact":[` + strings.Repeat(`{"a":1},`, 1<<17) + `{}]}]}`,
		"properties":  `{"items":[]` + properties.String() + `}`,
	} {
		raw := []byte(body)
		if perByte := float64(measure.Allocated(func() { _, _ = measureBatch(raw) })) / float64(len(raw)); perByte > 16 {
			t.Errorf("%s take %.1f bytes for each of the body", name, perByte)
		}
	}
}
