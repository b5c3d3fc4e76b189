package list_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"contactbase/internal/contact"
	"contactbase/internal/contact/list"
	"contactbase/internal/testkit"
)

// Each reads each page in a turn that ends before the contacts are handed over, so that a slow reader holds none.
func TestEachTakesTurns(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	tenant := testkit.Tenant(t, app, "Acme")
	const n = 600 // more than a page
	for i := range n {
		if _, err := testkit.Create(app, tenant, contact.Changes{"name": fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	turns, reading, found := 0, 0, 0
	query := list.Query{Sort: "createdAt", Turn: func(context.Context) (func(), error) {
		turns++
		reading++
		return func() { reading-- }, nil
	}}
	err := new(list.Reader).Each(t.Context(), app, tenant, query, func(*contact.Contact) error {
		if found++; reading != 0 {
			return errors.New("a turn lasts")
		}
		return nil
	})
	if err != nil || found != n || turns < 2 {
		t.Errorf("%d contacts in %d turns: %v", found, turns, err)
	}
	refused := errors.New("refused")
	query.Turn = func(context.Context) (func(), error) { return nil, refused }
	if err := new(list.Reader).Each(t.Context(), app, tenant, query, nil); !errors.Is(err, refused) {
		t.Errorf("without a turn: %v", err)
	}
}
