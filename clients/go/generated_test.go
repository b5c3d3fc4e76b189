package contactbase

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"contactbase/clients/go/internal/api"
)

// Each property of a contact in the description of the API survives Contact and Fields: a new one is
// not lost in silence.
func TestNoPropertyIsLost(t *testing.T) {
	t.Parallel()
	var contact api.Contact
	var input api.ContactInput
	fill(t, reflect.ValueOf(&contact).Elem())
	fill(t, reflect.ValueOf(&input).Elem())
	contact.Id = "0mm8yqpxck3w9xa"
	expectSame(t, contact, &Contact{})
	expectSame(t, input, &Fields{})
}

// fill gives each field of a struct a value of its own.
func fill(t *testing.T, value reflect.Value) {
	t.Helper()
	for i := range value.NumField() {
		text := fmt.Sprint("value ", i)
		switch field := value.Field(i); field.Interface().(type) {
		case string:
			field.SetString(text)
		case *string:
			field.Set(reflect.ValueOf(&text))
		case time.Time:
			field.Set(reflect.ValueOf(time.Unix(int64(i), 0).UTC()))
		case map[string]any:
			field.Set(reflect.ValueOf(map[string]any{"custom": text}))
		default:
			t.Fatalf("extend this test for the type %s of %s", field.Type(), value.Type().Field(i).Name)
		}
	}
}

// expectSame expects the JSON of the generated type to be the same after it was read into ours.
func expectSame(t *testing.T, generated, ours any) {
	t.Helper()
	want, err := json.Marshal(generated)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(want, ours); err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(ours)
	if err != nil {
		t.Fatal(err)
	}
	var wantValues, gotValues map[string]any
	if err := json.Unmarshal(want, &wantValues); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(got, &gotValues); err != nil || !reflect.DeepEqual(gotValues, wantValues) {
		t.Errorf("%T: got %s, want %s (%v)", ours, got, want, err)
	}
}
