package routes_test

import (
	"net/http"
	"testing"

	"github.com/pocketbase/pocketbase/core"

	"contactbase/internal/testkit"
	"contactbase/routes"
)

// A request that runs when the program ends is answered; one that comes then is told to repeat.
func TestRequestsEndBeforeTheServer(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	running, finish := make(chan struct{}), make(chan struct{})
	app.OnServe().BindFunc(func(e *core.ServeEvent) error {
		e.Router.GET("/slow", func(e *core.RequestEvent) error {
			close(running)
			<-finish
			return e.NoContent(http.StatusNoContent)
		})
		return e.Next()
	})
	base := testkit.Serve(t, app, routes.Config{})
	answered := make(chan int, 1)
	go func() {
		response, err := http.Get(base + "/slow")
		if err != nil {
			t.Error(err)
			answered <- 0
			return
		}
		response.Body.Close()
		answered <- response.StatusCode
	}()
	<-running
	terminated := make(chan error, 1)
	go func() {
		terminated <- app.OnTerminate().Trigger(&core.TerminateEvent{App: app})
	}()
	client := testkit.NewClient(t, base, "")
	for client.Do("GET", contactsPath, "").Status != http.StatusServiceUnavailable { // until the end has begun
	}
	close(finish)
	if status := <-answered; status != http.StatusNoContent {
		t.Errorf("the running request gives %d", status)
	}
	if err := <-terminated; err != nil {
		t.Error(err)
	}
}
