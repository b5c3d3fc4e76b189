package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// movers write through the proxy, and repeat each request until it succeeds.
type movers struct {
	t       *testing.T
	ended   chan struct{}
	group   sync.WaitGroup
	created atomic.Int64
	refused atomic.Int64 // answers 503 with tenant_moving
	changed atomic.Int64
}

func (m *movers) write(c *client, name string) {
	m.group.Go(func() {
		for n := 0; !m.isOver(); n++ {
			key := fmt.Sprintf("%s-%d", name, n)
			answer := m.insist(c, http.MethodPost, contactsPath, fmt.Sprintf(`{"name":"Zoë","externalId":%q}`, key), http.StatusCreated, "Idempotency-Key", key)
			if answer == nil {
				return
			}
			m.created.Add(1)
			if n%3 != 0 {
				continue
			}
			path := contactsPath + "/" + str(m.t, answer.data(), "id")
			if m.insist(c, http.MethodPatch, path, `{"company":"Firma"}`, http.StatusOK) == nil {
				return
			}
			m.changed.Add(1)
		}
	})
}

func (m *movers) isOver() bool {
	select {
	case <-m.ended:
		return true
	default:
		return false
	}
}

// insist repeats a request until it has the status, after a part of Retry-After. It returns nil after an
// unexpected response.
func (m *movers) insist(c *client, method, path, body string, status int, header ...string) *answer {
	for deadline := time.Now().Add(timeout); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		answer, err := c.try(method, path, body, header...)
		switch {
		case err != nil: // the proxy closes connections when it reads its configuration
			continue
		case answer.status == status:
			return answer
		case answer.status == http.StatusServiceUnavailable && strings.Contains(string(answer.body), `"tenant_moving"`) && answer.header.Get("Retry-After") == "5":
			m.refused.Add(1)
		default:
			m.t.Errorf("%s %s returns %s", method, path, answer)
			return nil
		}
	}
	m.t.Errorf("%s %s has no success", method, path)
	return nil
}

// follower reads a feed through the proxy by cursor.
type follower struct {
	c      *client
	cursor string
	seen   []string
}

// read reads a page, and returns false at the end.
func (f *follower) read(t *testing.T, wait int) (more bool) {
	answer, err := f.c.try(http.MethodGet, fmt.Sprintf("/api/ext/v1/events?limit=200&wait=%d&after=%s", wait, url.QueryEscape(f.cursor)), "")
	if err != nil {
		return true
	}
	if answer.status == http.StatusServiceUnavailable {
		time.Sleep(50 * time.Millisecond)
		return true
	}
	var page struct {
		Data   []struct{ ID string }
		Cursor string
	}
	if err := json.Unmarshal(answer.body, &page); err != nil || answer.status != http.StatusOK {
		t.Errorf("the feed returns %s", answer)
		return false
	}
	for _, event := range page.Data {
		f.seen = append(f.seen, event.ID)
	}
	f.cursor = page.Cursor
	return len(page.Data) > 0
}
