package inbound

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/fault"
	"contactbase/internal/sqlite"
)

// Erase erases all stored requests about people, in chunks: their bodies, all details of their results, and the
// remembered responses, which are the results.
func Erase(ctx context.Context, app core.App, people []string) error {
	encoded := sqlite.List(people)
	err := sqlite.InChunks(ctx, app, func(tx core.App, limit int) (int, error) {
		var ids []string
		err := tx.DB().NewQuery("SELECT DISTINCT [[request]] FROM {{_inboundPeople}} " +
			"WHERE [[person]] IN (SELECT value FROM json_each({:people})) LIMIT {:limit}").
			Bind(dbx.Params{"people": encoded, "limit": limit}).Column(&ids)
		if err != nil {
			return 0, fmt.Errorf("looking for requests about contacts: %w", err)
		}
		return len(ids), eraseRequests(tx, ids, encoded)
	})
	if err != nil {
		return err
	}
	crowded, err := inCrowds(app, people)
	if err != nil {
		return err
	}
	return sqlite.InChunks(ctx, app, func(tx core.App, limit int) (int, error) {
		some := crowded[:min(limit, len(crowded))]
		crowded = crowded[len(some):]
		return len(some), eraseRequests(tx, some, encoded)
	})
}

func eraseRequests(tx core.App, ids []string, people string) error {
	for _, id := range ids {
		if err := eraseRequest(tx, id, people); err != nil {
			return fmt.Errorf("erasing the inbound request %s: %w", id, err)
		}
	}
	return nil
}

// eraseRequest erases a request, unless it was deleted meanwhile. It stays linked to the other people in it, for whom
// nothing is left to do.
func eraseRequest(tx core.App, id, people string) error {
	kept := &row{}
	var tenantID, result string
	err := tx.DB().Select("tenant", "erased", "COALESCE([[result]], '')").
		From(RequestsCollection).Where(dbx.HashExp{"id": id}).
		Row(&tenantID, &kept.erased, &result)
	if errors.Is(err, sql.ErrNoRows) {
		kept.erased, err = true, nil
	}
	if err != nil {
		return err
	}
	if !kept.erased {
		kept.result = []byte(result)
		if err := kept.erase(); err != nil {
			return err
		}
		_, err = tx.DB().Update(RequestsCollection, dbx.Params{
			"erased": true, "contentType": "", "body": "", "result": string(kept.result),
		}, dbx.HashExp{"id": id}).Execute()
		if err != nil {
			return err
		}
	}
	_, err = sqlite.Run(tx, []sqlite.Statement{
		{Text: "DELETE FROM `_inboundPeople` WHERE `request` = ? AND `person` IN (SELECT `value` FROM json_each(?))",
			Args: []any{id, people}},
		{Text: "DELETE FROM `_inboundCrowds` WHERE `tenant` = ? AND `request` = ?", Args: []any{tenantID, id}},
	})
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
