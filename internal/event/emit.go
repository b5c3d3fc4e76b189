package event

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/sqlite"
	"contactbase/internal/tenant"
	"contactbase/internal/wire"
)

// Limits of the data of an extension's event. Many JSON decoders reject more levels.
const (
	maxData   = 64 << 10 // bytes
	maxLevels = 100
)

// Emit writes an event of an extension to the outbox, in the app's transaction if it has one. It returns an error, and
// writes nothing, if the kind is not declared, the tenant accepts no writes, the contact is not the tenant's, or the
// data is not a JSON object of at most 64 KiB.
func Emit(app core.App, e *Event) error {
	if !slices.ContainsFunc(DeclaredBy(app), func(d Declared) bool { return d.Type == string(e.Kind) }) {
		return fmt.Errorf("the event type %.100q is not declared: declare it at the top of a file in pb_hooks with "+
			"$contactbase.declareEvent, or before Execute with server.DeclareEvent", string(e.Kind))
	}
	data, err := encodeOwn(e.Data)
	if err != nil {
		return fmt.Errorf("the data of the event %s %w", e.Kind, err)
	}
	emitted := *e
	emitted.Data, emitted.Source = data, Source{Type: FromExtension}
	return sqlite.Transact(context.Background(), app, e.TenantID, true, func(tx core.App) error {
		return emit(tx, &emitted)
	})
}

// ownersSQL returns whether the tenant ?1 accepts writes, and whether it has the contact ?2, "" for none.
var ownersSQL = "SELECT " + tenant.StateSQL("t.`id`") + ", ?2 = '' OR EXISTS (" +
	"SELECT 1 FROM `contacts` c WHERE c.`id` = ?2 AND c.`tenant` = t.`id`) FROM `tenants` t WHERE t.`id` = ?1"

func emit(tx core.App, e *Event) error {
	var state tenant.State
	var known bool
	found, err := sqlite.Row(sqlite.ReaderOf(tx), []any{&state, &known}, ownersSQL, e.TenantID, e.Contact)
	if err != nil {
		return fmt.Errorf("looking for the tenant of the event %s: %w", e.Kind, err)
	}
	if !found {
		return fmt.Errorf("the event %s needs the ID of a tenant: there is no tenant %.100q", e.Kind, e.TenantID)
	}
	if err := state.Writable(); err != nil {
		return fmt.Errorf("the event %s of the tenant %s: %w", e.Kind, e.TenantID, err)
	}
	if !known {
		return fmt.Errorf("the event %s needs the ID of a contact of the tenant %s, or none: it has no contact %.100q",
			e.Kind, e.TenantID, e.Contact)
	}
	insert, err := Insert(e, time.Now())
	if err == nil {
		_, err = sqlite.Run(tx, []sqlite.Statement{insert})
	}
	if err != nil {
		return fmt.Errorf("writing the event %s: %w", e.Kind, err)
	}
	if transaction := tx.TxInfo(); transaction != nil {
		transaction.OnComplete(func(error) error {
			ownOf(tx).wake()
			return nil
		})
	}
	return nil
}

// encodeOwn returns the data of an extension's event as receivers get it. The error continues "the data".
func encodeOwn(data any) (json.RawMessage, error) {
	encoded, err := wire.AppendJSON(nil, data)
	if err != nil {
		return nil, fmt.Errorf("must be a JSON object: %w", err)
	}
	if len(encoded) > maxData {
		return nil, fmt.Errorf("has %d bytes of JSON, but at most %d are allowed: "+
			"send an ID, with which receivers request the rest", len(encoded), maxData)
	}
	if depth, _ := wire.Measure(encoded); depth > maxLevels {
		return nil, fmt.Errorf("has %d levels, but at most %d are allowed: nest it less deeply", depth, maxLevels)
	}
	if !bytes.HasPrefix(encoded, []byte("{")) {
		return nil, errors.New(`must be a JSON object, such as {"id": "…"}`)
	}
	var read any
	if err := json.Unmarshal(encoded, &read); err != nil {
		return nil, fmt.Errorf("has a number that is too large: send it as a string: %w", err)
	}
	if !bytes.Contains(bytes.ToLower(encoded), []byte(`\ud`)) {
		return encoded, nil
	}
	// a text may have half of a character, as those of JavaScript can, which many receivers reject
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		return nil, err
	}
	return wire.AppendJSON(nil, read)
}
