package inbound

import (
	"encoding/json"
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

// Erase erases up to limit stored requests about people: their bodies, all details of their results, and the remembered responses,
// which are the results. It returns the number of requests.
func Erase(tx core.App, people []string, limit int) (found int, _ error) {
	encoded := sqlite.List(people)
	var ids []string
	err := tx.DB().NewQuery("SELECT DISTINCT [[request]] FROM {{_inboundPeople}} WHERE [[person]] IN (SELECT value FROM json_each({:people})) LIMIT {:limit}").
		Bind(dbx.Params{"people": encoded, "limit": limit}).Column(&ids)
	if err != nil {
		return 0, fmt.Errorf("looking for requests about contacts: %w", err)
	}
	for _, id := range ids {
		if err := eraseRequest(tx, id, encoded); err != nil {
			return 0, fmt.Errorf("erasing the inbound request %s: %w", id, err)
		}
	}
	return len(ids), nil
}

// eraseRequest erases a request. It stays linked to the other people in it, for whom nothing is left to do.
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

// erase removes all personal data: the body, and the text of the result.
func (r *row) erase() error {
	r.erased, r.body, r.contentType = true, "", ""
	var result struct {
		*Outcome
		Error *fault.Error `json:"error,omitempty"`
	}
	if err := json.Unmarshal(r.result, &result); err != nil {
		r.result = []byte("{}") // not written by us: erase all of it
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

// erased returns what remains of an error, whose message may quote the body.
func erased(f *fault.Error) *fault.Error {
	if f == nil {
		return nil
	}
	return fault.New(f.Code, "erased with the contact")
}
