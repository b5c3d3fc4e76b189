package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"
)

const (
	ourEvents   = "/api/ext/v1/events"
	idleReaders = 5_000
)

// batch measures calls with as many new contacts as one may have, over one connection and over four.
func (s *suite) batch() error {
	const calls, items = 20, 1_000
	for _, n := range []int{1, 4} {
		loaded := run(s.ours.base, s.ours.header, n, time.Minute, calls, func(int64, *rand.Rand) call {
			all := make([]string, items)
			for i := range all {
				all[i] = `{"action":"create","contact":` + contact(rand.Int64N(1<<40), "") + "}"
			}
			return call{"POST", ourContacts + "/batch", `{"items":[` + strings.Join(all, ",") + "]}", ""}
		})
		if loaded.errors > 0 {
			return fmt.Errorf("%s", loaded.firstError)
		}
		s.note("batches of %d new contacts over %d connection(s): %.0f contacts/s, %v (p50) a batch", items, n, loaded.perSecond*items, short(loaded.p50))
	}
	return nil
}

// feed measures a reader of all events, in pages and as a stream, and what readers cost that wait.
func (s *suite) feed() error {
	if err := s.fill(); err != nil {
		return err
	}
	began, events := time.Now(), 0
	for after, more := "", true; more; {
		var page struct {
			Data    []json.RawMessage
			HasMore bool
			Cursor  string
		}
		if err := fetch(s.ours, ourEvents+"?limit=1000&after="+after, &page); err != nil {
			return err
		}
		events += len(page.Data)
		after, more = page.Cursor, page.HasMore
	}
	s.note("the feed, to one reader in pages of 1,000: %.0f events/s of %d", float64(events)/time.Since(began).Seconds(), events)
	began = time.Now()
	stream, err := s.openStream("?after=")
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(stream)
	for streamed := 0; streamed < events && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data:") {
			streamed++
		}
	}
	stream.Close()
	s.note("the feed, to one reader as a stream: %.0f events/s", float64(events)/time.Since(began).Seconds())
	return s.idle()
}

// idle measures what readers cost that wait for events that do not come.
func (s *suite) idle() error {
	if err := s.ours.settle(); err != nil {
		return err
	}
	before, _ := s.ours.memory()
	for range idleReaders {
		stream, err := s.openStream("")
		if err != nil {
			return err
		}
		defer stream.Close()
	}
	if err := s.ours.settle(); err != nil {
		return err
	}
	after, _ := s.ours.memory()
	used := s.ours.cpu()
	time.Sleep(10 * time.Second)
	s.note("%d readers of streams that wait: %d MiB, and %.2f %% of a processor", idleReaders, after-before, (s.ours.cpu()-used).Seconds()*10)
	return nil
}

func (s *suite) openStream(query string) (io.ReadCloser, error) {
	r, err := http.NewRequest(http.MethodGet, s.ours.base+ourEvents+query, nil)
	if err != nil {
		return nil, err
	}
	r.Header = s.ours.header.Clone()
	r.Header.Set("Accept", "text/event-stream")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		answer, _ := io.ReadAll(response.Body)
		return nil, fmt.Errorf("the stream is answered %d %s", response.StatusCode, answer)
	}
	return response.Body, nil
}
