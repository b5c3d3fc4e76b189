// Package version tells which version of the program answers.
package version

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/pocketbase/pocketbase/apis"
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/hook"
)

// Path is where an installation answers while it runs. The route is PocketBase's own.
const Path = "/api/health"

// maxAnswer is how much of an answer is read, in bytes.
const maxAnswer = 64 << 10

// answer is what PocketBase says at Path.
type answer struct {
	Message string         `json:"message"`
	Code    int            `json:"code"`
	Data    map[string]any `json:"data"`
}

// Tell returns a middleware that adds the version of the program to the answer at Path.
func Tell(version string) *hook.Handler[*core.RequestEvent] {
	return &hook.Handler[*core.RequestEvent]{
		Id: "contactbaseVersion",
		Func: func(e *core.RequestEvent) error {
			if e.Request.URL.Path != Path {
				return e.Next()
			}
			response, recorded := e.Response, httptest.NewRecorder()
			e.Response = recorded
			err := apis.SkipSuccessActivityLog().Func(e) // supervisors ask all the time
			e.Response = response
			if err != nil {
				return err
			}
			var said answer
			if err := json.Unmarshal(recorded.Body.Bytes(), &said); err != nil {
				return fmt.Errorf("reading the answer at %s: %w", Path, err)
			}
			if said.Data == nil {
				said.Data = map[string]any{}
			}
			said.Data["version"] = version
			return e.JSON(recorded.Code, said)
		},
	}
}

// Ask asks the installation at base, such as http://127.0.0.1:8090, whether it answers, and returns its version.
func Ask(ctx context.Context, base string) (version string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, base+Path, nil)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return "", fmt.Errorf("reading the answer of %s: %w", base+Path, err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", base+Path, response.Status)
	}
	var said answer
	if err := json.Unmarshal(body, &said); err != nil {
		return "", fmt.Errorf("%s is not an installation of Contactbase: %w", base, err)
	}
	version, isText := said.Data["version"].(string)
	if !isText {
		return "", fmt.Errorf("%s is not an installation of Contactbase", base)
	}
	return version, nil
}
