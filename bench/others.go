package main

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

const idleReaders = 5_000

// others prints figures without a comparison: the most that net/http can do here, and streams of the feed.
func (b *bench) others(ours *arm) error {
	b.titles("without a comparison | figure")
	for _, figure := range []struct {
		name string
		of   func(*arm) (string, error)
	}{
		{"requests/s of a net/http handler that does nothing", bareHandler},
		{"events/s of the feed as a stream, one reader", streamed},
		{fmt.Sprintf("memory of a stream that waits, with %s of them", thousands(idleReaders)), idle},
	} {
		if !wanted(figure.name) {
			continue
		}
		value, err := figure.of(ours)
		if err != nil {
			return fmt.Errorf("%s: %w", figure.name, err)
		}
		b.row(figure.name, value)
	}
	return nil
}

func bareHandler(*arm) (string, error) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"data":{}}`)
	}))
	defer s.Close()
	next := func(int64, *rand.Rand) call { return call{method: "GET", path: "/"} }
	found, err := load{connections: *connections, length: duration(), next: next}.run(s.URL)
	return short(found.perSecond), err
}

// streamed reads all events of a tenant in one stream.
func streamed(ours *arm) (string, error) {
	s := ours.server(ours.dir)
	if err := s.start(); err != nil {
		return "", err
	}
	defer s.stop()
	began, events := time.Now(), 0
	stream, err := openStream(s, ours.members[0], "?after=")
	if err != nil {
		return "", err
	}
	defer stream.Close()
	for lines := bufio.NewScanner(stream); events < *contacts && lines.Scan(); {
		if strings.HasPrefix(lines.Text(), "data:") {
			events++
		}
	}
	if events < *contacts {
		return "", fmt.Errorf("the stream ended after %d events", events)
	}
	return short(float64(events) / time.Since(began).Seconds()), nil
}

// idle measures the memory of readers that wait for events.
func idle(ours *arm) (string, error) {
	s := ours.server(ours.dir)
	if err := s.start(); err != nil {
		return "", err
	}
	defer s.stop()
	if err := s.settle(); err != nil {
		return "", err
	}
	alone, _ := s.memory()
	for range idleReaders {
		stream, err := openStream(s, ours.neighbour, "")
		if err != nil {
			return "", err
		}
		defer stream.Close()
	}
	if err := s.settle(); err != nil {
		return "", err
	}
	now, _ := s.memory()
	return fmt.Sprintf("%.1f KiB", float64(now-alone)*1024/idleReaders), nil
}

func openStream(s *server, m member, query string) (io.ReadCloser, error) {
	request, err := http.NewRequest(http.MethodGet, s.base+ourEvents+query, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set(keyHeader, m.key)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != http.StatusOK {
		response.Body.Close()
		return nil, fmt.Errorf("the stream is answered %s", response.Status)
	}
	return response.Body, nil
}
