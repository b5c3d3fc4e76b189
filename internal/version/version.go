// Package version reports the version of an installation.
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
)

// Path is the path of the health check, a route of PocketBase.
const Path = "/api/health"

// maxResponse limits how much of a response is read, in bytes.
const maxResponse = 64 << 10

// health is PocketBase's response at Path.
type health struct {
	Message string         `json:"message"`
	Code    int            `json:"code"`
	Data    map[string]any `json:"data"`
}

// Answer runs the rest of a request to Path, and adds the version to its response.
func Answer(e *core.RequestEvent, version string) error {
	response, recorded := e.Response, httptest.NewRecorder()
	e.Response = recorded
	err := apis.SkipSuccessActivityLog().Func(e) // supervisors call it often
	e.Response = response
	if err != nil {
		return err
	}
	var found health
	if err := json.Unmarshal(recorded.Body.Bytes(), &found); err != nil {
		return fmt.Errorf("reading the response at %s: %w", Path, err)
	}
	if found.Data == nil {
		found.Data = map[string]any{}
	}
	found.Data["version"] = version
	return e.JSON(recorded.Code, found)
}

// Ask returns the version of the installation at a base URL such as http://127.0.0.1:8090, or an error if it
// does not respond.
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
	body, err := io.ReadAll(io.LimitReader(response.Body, maxResponse))
	if err != nil {
		return "", fmt.Errorf("reading the response of %s: %w", base+Path, err)
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s responds with %s", base+Path, response.Status)
	}
	var found health
	if err := json.Unmarshal(body, &found); err != nil {
		return "", fmt.Errorf("%s is not a Contactbase installation: %w", base, err)
	}
	version, isText := found.Data["version"].(string)
	if !isText {
		return "", fmt.Errorf("%s is not a Contactbase installation", base)
	}
	return version, nil
}
