package routes_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/body"
	"contactbase/internal/testkit"
	"contactbase/routes/envelope"
)

// The replay of a large body waits for its turn before it is decompressed, as a received one does: while two others are
// decoded, a body that does not even decompress is not looked at. That of a small one does not wait.
func TestReplaysTakeTurns(t *testing.T) {
	t.Parallel()
	limits := body.DefaultLimits
	limits.Turn = 100 * time.Millisecond
	app := testkit.NewBoundedApp(t, limits)
	reads, ends := make(chan int, 4), make(chan struct{})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.POST("/hold", func(e *core.RequestEvent) error {
			raw, err := envelope.ReadBody(e, 2<<20)
			reads <- len(raw)
			<-ends
			return err
		}).Unbind(apis.DefaultBodyLimitMiddlewareId)
		return e.Next()
	})
	_, f := serve(t, app)
	s, admin := newSender(t, f, "upsert", nil), newAdmin(t, f)
	replay := func(want int) {
		t.Helper()
		id, _, _ := shown(t, f, admin)
		got := admin.Do("POST", "/api/integrations/inbound/requests/"+id+"/replay", "")
		if got.Status != want || want == http.StatusTooManyRequests && got.Header.Get("Retry-After") == "" {
			t.Errorf("the replay is answered %d %s, not %d", got.Status, got.Body, want)
		}
	}
	large := bytes.Repeat([]byte("x"), 3<<19)
	for range 2 {
		go func() {
			defer func() { reads <- 0 }() // if it was refused
			post(t, "POST", f.base+"/hold", admin.Header.Get("Authorization"), "text/plain", large, false)
		}()
		if size := <-reads; size != len(large) {
			t.Fatalf("%d bytes are held", size)
		}
	}
	s.expect("created:1", `{"email":"small@example.com","lines":[`+strings.Repeat(`"a line",`, 1_000)+`0]}`)
	replay(http.StatusOK)
	store := func(size string) { // of the text, as gzip notes it
		testkit.Execute(t, f.App, "UPDATE inbound_requests SET body = {:body}", dbx.Params{"body": []byte("\x1f\x8b damaged" + size)})
	}
	store("\x00\x00\x30\x00")
	replay(http.StatusTooManyRequests)
	close(ends)
	store("\x00\x00\x00\x00")
	replay(http.StatusConflict)
}
