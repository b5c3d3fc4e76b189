package contactbase

import (
	"context"

	"contactbase/clients/go/internal/api"
)

// Action is what an item of a batch does.
type Action string

// The actions of a batch.
const (
	ActionCreate Action = "create" // creates a contact
	ActionUpdate Action = "update" // updates the contact with the ID
	ActionUpsert Action = "upsert" // updates the contact that Match finds, or creates one
	ActionDelete Action = "delete" // deletes the contact with the ID, or without an ID the one that Match finds
)

// Match selects how an upsert or a deletion finds its contact, by its value in the fields.
type Match string

// The ways to find a contact.
const (
	MatchExternalID Match = "externalId" // the default
	MatchEmail      Match = "email"      // the oldest, if several share it; a deletion then fails with CodeAmbiguous
)

// Batch is 1 to 1,000 items to write in order, in one transaction.
type Batch struct {
	Items []BatchItem

	// Atomic makes the batch fail with CodeBatchFailed, and write nothing, if an item fails.
	Atomic bool
}

// BatchItem is a contact to write or delete.
type BatchItem struct {
	Action  Action
	ID      string // of the contact, with ActionUpdate or ActionDelete
	Match   Match  // with ActionUpsert, or ActionDelete without an ID
	Contact Fields // empty to delete by ID
}

// BatchOutcome is the result of a batch.
type BatchOutcome struct {
	Created   int
	Updated   int
	Deleted   int
	Unchanged int
	Failed    int
	Results   []BatchResult // one for each item, in order
}

// BatchResult is the result of an item.
type BatchResult struct {
	Index   int
	Status  string      // created, updated, deleted, unchanged or failed
	Contact *Contact    // nil if it was deleted or failed
	Error   *BatchError // nil unless it failed
}

// BatchError says why an item failed.
type BatchError struct {
	Code    string // as that of an Error
	Message string
	Fields  map[string]FieldError
}

// Error returns the error on one line.
func (e *BatchError) Error() string {
	return "contactbase: " + e.Code + ": " + e.Message + describe(e.Fields, e.Message)
}

// Batch writes many contacts at once. Single items can fail: check the results.
func (c *Contacts) Batch(ctx context.Context, batch Batch, options ...RequestOption) (BatchOutcome, error) {
	answer, _, err := decode[api.BatchResponse](c.api.WriteContacts(ctx, nil, batch.request(), edit(options...)))
	if err != nil {
		return BatchOutcome{}, err
	}
	return BatchOutcome{
		Created: answer.Data.Created, Updated: answer.Data.Updated, Deleted: answer.Data.Deleted,
		Unchanged: answer.Data.Unchanged, Failed: answer.Data.Failed,
		Results: batchResults(answer.Data.Results),
	}, nil
}

func (b Batch) request() api.BatchRequest {
	request := api.BatchRequest{Items: make([]api.BatchItem, len(b.Items)), Atomic: &b.Atomic}
	for i, item := range b.Items {
		contact := item.Contact.input()
		request.Items[i] = api.BatchItem{Action: api.BatchAction(item.Action), Id: orNull(item.ID), Contact: &contact}
		if item.Match != "" {
			match := api.BatchMatch(item.Match)
			request.Items[i].Match = &match
		}
	}
	return request
}

func batchResults(from []api.BatchResult) []BatchResult {
	results := make([]BatchResult, len(from))
	for i, result := range from {
		results[i] = BatchResult{Index: result.Index, Status: string(result.Status)}
		if result.Contact != nil {
			contact := contactOf(*result.Contact)
			results[i].Contact = &contact
		}
		if result.Error != nil {
			results[i].Error = &BatchError{string(result.Error.Code), result.Error.Message, fieldErrors(result.Error.Fields)}
		}
	}
	return results
}
