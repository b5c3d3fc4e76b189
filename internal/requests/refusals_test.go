package requests

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// A client has one row per minute, however many of its requests are refused. Clients over the limit share one row.
func TestRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		rows := make(chan string, 9)
		r := newRefusals(nil, func(client string, found refusal) {
			rows <- fmt.Sprint(client, found.count, found.statuses, found.last)
		})
		for range 3 {
			r.count("a", 401, "GET /x")
		}
		r.count("a", 404, "GET /y")
		time.Sleep(refusalWindow - time.Nanosecond)
		synctest.Wait()
		if len(rows) != 0 {
			t.Errorf("within the minute: %q", <-rows)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := <-rows; got != "a4 map[401:3 404:1]GET /y" || len(rows) != 0 {
			t.Errorf("after a minute: %q, and %d more", got, len(rows))
		}
		time.Sleep(10 * refusalWindow)
		synctest.Wait()
		if len(rows) != 0 {
			t.Errorf("without a request: %q", <-rows)
		}
		crowd := map[string]int{}
		r.write = func(client string, found refusal) { crowd[client] = found.count }
		for i := range 3 * maxClients {
			r.count(fmt.Sprint(i), 401, "GET /x")
		}
		r.flush()
		if len(crowd) != maxClients+1 || crowd[otherClients] != 2*maxClients || crowd["0"] != 1 {
			t.Errorf("many clients have %d rows, and others has the count %d", len(crowd), crowd[otherClients])
		}
		for i := range 2 * maxFailureRows {
			if may := r.logsFailure(); may != (i < maxFailureRows) {
				t.Errorf("failure %d has a row: %v", i, may)
			}
		}
		time.Sleep(refusalWindow)
		synctest.Wait()
		if !r.logsFailure() {
			t.Error("a minute later a failure has no row")
		}
		r.flush()
	})
}
