package listen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"contactbase/internal/loop"
)

const (
	waitSeconds  = 25 // how long the server waits for the next event
	answerWithin = 60 * time.Second
	maxAnswer    = 64 << 20 // bytes; a page ends at 4 MiB, except for its last event

	firstPause = 500 * time.Millisecond // before the first retry
	maxPause   = 15 * time.Second
)

// Feed reads an installation's event feed.
type Feed struct {
	URL    string // of the installation, without a trailing slash
	Key    string // the API key
	Client *http.Client
}

// Page is consecutive events, and the cursor after them.
type Page struct {
	Data   []json.RawMessage `json:"data"`
	Cursor string            `json:"cursor"`
}

// Error is a response of the installation that is not a page.
type Error struct {
	Status  int
	Code    string
	Message string

	retryAfter time.Duration
}

// Error returns the installation's own message.
func (e *Error) Error() string {
	if e.Message == "" {
		return fmt.Sprintf("the address responds with %d and is not a Contactbase installation; check --url", e.Status)
	}
	return fmt.Sprintf("%s (%s)", e.Message, e.Code)
}

// isPassing reports whether the same request may succeed later.
func (e *Error) isPassing() bool {
	return e.Status == http.StatusTooManyRequests || e.Status >= http.StatusInternalServerError
}

// Now returns the cursor after all current events. It does not retry.
func (f *Feed) Now(ctx context.Context) (cursor string, err error) {
	page, err := f.read(ctx, url.Values{})
	if err != nil {
		return "", err
	}
	return page.Cursor, nil
}

// Next returns the events after a cursor, and waits if there are none. It reports temporary errors to trouble and
// retries; it returns any other error response as an *Error.
func (f *Feed) Next(ctx context.Context, cursor string, trouble func(error)) (*Page, error) {
	query := url.Values{"after": {cursor}, "wait": {strconv.Itoa(waitSeconds)}}
	for pause := firstPause; ; pause = min(2*pause, maxPause) {
		page, err := f.read(ctx, query)
		if err == nil || ctx.Err() != nil {
			return page, err
		}
		wait := pause
		var refused *Error
		if errors.As(err, &refused) {
			if !refused.isPassing() {
				return nil, err
			}
			wait = max(wait, refused.retryAfter)
		}
		trouble(err)
		if !loop.Pause(ctx, wait) {
			return nil, ctx.Err()
		}
	}
}

func (f *Feed) read(ctx context.Context, query url.Values) (*Page, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.URL+"/api/ext/v1/events?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-API-Key", f.Key)
	response, err := f.Client.Do(request)
	if err != nil {
		var wrapped *url.Error // it contains the URL, including the query
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, err
	}
	var answer struct {
		Page
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	err = json.Unmarshal(body, &answer)
	if response.StatusCode == http.StatusOK && err == nil && answer.Cursor != "" {
		return &answer.Page, nil
	}
	seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
	return nil, &Error{response.StatusCode, answer.Error.Code, answer.Error.Message, time.Duration(seconds) * time.Second}
}
