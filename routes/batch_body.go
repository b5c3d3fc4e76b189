package routes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"

	"contactbase/internal/fault"
	"contactbase/internal/wire"
	"contactbase/routes/envelope"
)

const maxBatchProperties = 16 // far more than a batch has

const (
	countBatchMiddlewareID = "contactbaseCountBatch"
	batchBodyKey           = "contactbaseBatchBody"
)

// batchBody is the body of a batch, raw and decoded.
type batchBody struct {
	raw    []byte
	object map[string]any
}

// countBatch checks the key's limit, which comes before all other checks of the request. It reads the body only if
// the key has a request left, and decodes it only if the key has enough for its items.
func (s *server) countBatch() *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id: countBatchMiddlewareID,
		Func: func(e *core.RequestEvent) error {
			caller := identity(e)
			if err := s.limits.Check(e, caller); err != nil {
				return err
			}
			items, raw, err := readBatch(e)
			if err := s.limits.SpendBatch(e, caller, items); err != nil {
				return err
			}
			if err != nil {
				return err
			}
			object, err := envelope.DecodeObject(raw)
			if err != nil {
				return err
			}
			e.Set(batchBodyKey, batchBody{raw, object})
			return e.Next()
		},
	}
}

// readBatch reads the body of a batch and counts its items. With an error, the batch counts as one request.
func readBatch(e *core.RequestEvent) (items int, raw []byte, err error) {
	if err := envelope.CheckJSON(e); err != nil {
		return 0, nil, err
	}
	if raw, err = envelope.ReadBody(e, maxBatchBody); err != nil {
		return 0, nil, err
	}
	raw = wire.WithoutMark(raw)
	var invalid *fault.Error
	if items, err = measureBatch(raw); errors.As(err, &invalid) {
		return 0, nil, err
	}
	return items, raw, nil
}

// measureBatch counts the items of a batch without decoding them, which takes thirty times their size in memory. The
// error is a *fault.Error if the batch is invalid, and another one if it is not JSON.
func measureBatch(raw []byte) (items int, err error) {
	properties, name := 0, ""
	err = eachValue(raw, '{', func(decoder *json.Decoder) error {
		token, err := decoder.Token()
		if name, _ = token.(string); err == nil && properties == maxBatchProperties {
			return fault.InvalidField(name, fault.CodeUnknownField, "is one of too many properties")
		}
		properties++
		return err
	}, func(value json.RawMessage) (err error) {
		if name == "items" { // the last one counts
			items, err = measureItems(value)
		}
		return err
	})
	return items, err
}

func measureItems(list json.RawMessage) (items int, err error) {
	err = eachValue(list, '[', func(*json.Decoder) error { return nil }, func(item json.RawMessage) error {
		if items == maxBatchItems {
			return fault.InvalidField("items", fault.CodeInvalidValue, itemsRule)
		}
		if len(item) > maxContactBody {
			return fault.New(fault.PayloadTooLarge,
				fmt.Sprintf("Item %d is too large. Each item must have at most %d bytes.", items, maxContactBody))
		}
		items++
		return nil
	})
	return items, err
}

// eachValue calls value with each value of an object or list, after name has read the tokens before it. It does
// nothing if raw does not begin with start.
func eachValue(raw []byte, start json.Delim, name func(*json.Decoder) error, value func(json.RawMessage) error) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != start {
		return err
	}
	var next json.RawMessage
	for decoder.More() {
		if err := errors.Join(name(decoder), decoder.Decode(&next)); err != nil {
			return err
		}
		if err := value(next); err != nil {
			return err
		}
	}
	return nil
}
