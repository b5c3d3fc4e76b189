package inbound

import (
	"encoding/json"
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
)

// linkPeople writes down in the request's transaction whom it is about.
func linkPeople(tx core.App, requestID string, people []string) error {
	if len(people) == 0 {
		return nil
	}
	encoded, err := json.Marshal(people)
	if err != nil {
		return err
	}
	_, err = tx.DB().NewQuery("INSERT OR IGNORE INTO {{_inboundPeople}} ([[person]], [[request]]) SELECT value, {:request} FROM json_each({:people})").
		Bind(dbx.Params{"request": requestID, "people": string(encoded)}).Execute()
	if err != nil {
		return fmt.Errorf("linking an inbound request to its people: %w", err)
	}
	return nil
}

// People returns what requests about a contact are found by: its id, and a digest of its address.
func People(tenantID, contactID, email string) []string {
	people := []string{contactID}
	if email != "" {
		people = append(people, personDigest(tenantID, email))
	}
	return people
}

// Erase takes people out of the requests that are kept: of up to limit requests about them the bodies go, and of the
// results all but what became of each item. With them the remembered answers are erased, which are the results. It
// returns how many requests there were.
func Erase(tx core.App, people []string, limit int) (found int, _ error) {
	encoded, err := json.Marshal(people)
	if err != nil {
		return 0, err
	}
	var ids []string
	err = tx.DB().NewQuery("SELECT DISTINCT [[request]] FROM {{_inboundPeople}} WHERE [[person]] IN (SELECT value FROM json_each({:people})) LIMIT {:limit}").
		Bind(dbx.Params{"people": string(encoded), "limit": limit}).Column(&ids)
	if err != nil {
		return 0, fmt.Errorf("looking for requests about people: %w", err)
	}
	for _, id := range ids {
		if err := eraseRequest(tx, id, string(encoded)); err != nil {
			return 0, fmt.Errorf("erasing the inbound request %s: %w", id, err)
		}
	}
	return len(ids), nil
}

// eraseRequest erases a request. It stays linked to the other people who were in it, for whom nothing is left to do.
func eraseRequest(tx core.App, id, people string) error {
	kept := &row{}
	var result string
	err := tx.DB().Select("erased", "COALESCE([[result]], '')").From(RequestsCollection).Where(dbx.HashExp{"id": id}).Row(&kept.erased, &result)
	if err != nil {
		return err
	}
	if !kept.erased {
		kept.result = []byte(result)
		if err := kept.erase(); err != nil {
			return err
		}
		_, err = tx.DB().Update(RequestsCollection, dbx.Params{"erased": true, "contentType": "", "body": "", "result": string(kept.result)}, dbx.HashExp{"id": id}).Execute()
		if err != nil {
			return err
		}
	}
	_, err = tx.DB().NewQuery("DELETE FROM {{_inboundPeople}} WHERE [[request]] = {:request} AND [[person]] IN (SELECT value FROM json_each({:people}))").
		Bind(dbx.Params{"request": id, "people": people}).Execute()
	return err
}

// erase takes all away that says something about people: what was sent, and the words about it.
func (r *row) erase() error {
	r.erased, r.body, r.contentType = true, "", ""
	var result struct {
		*Outcome
		Error *fault.Error `json:"error,omitempty"`
	}
	if err := json.Unmarshal(r.result, &result); err != nil {
		r.result = []byte("{}") // not one of ours: erase all of it
		return nil              //nolint:nilerr // the erasure is what counts
	}
	result.Error = erased(result.Error)
	if result.Outcome != nil {
		for i, item := range result.Results {
			result.Results[i] = Result{Index: item.Index, Status: item.Status, ID: item.ID, Error: erased(item.Error)}
		}
	}
	var err error
	r.result, err = json.Marshal(result)
	return err
}

// erased is what remains of an error: the sentence may quote what was sent.
func erased(told *fault.Error) *fault.Error {
	if told == nil {
		return nil
	}
	return fault.New(told.Code, "erased with the contact")
}
