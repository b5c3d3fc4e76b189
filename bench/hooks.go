package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"contactbase/bench/receiver"
)

const deliveryTimeout = 10 * time.Minute

// hooks is webhooks of a tenant, each with a receiver, and their arrivals.
type hooks struct {
	receivers []*receiver.Receiver
	secure    *tls.Config                     // nil for HTTP
	take      func(body []byte, at time.Time) // receives each arrival; nil for nothing
	arrived   atomic.Int64
	first     atomic.Pointer[time.Time]
	forgets   bool // the server stores no results
}

// add adds webhooks whose receivers answer alike, while no server has the directory.
func (h *hooks) add(s *server, m member, count int, answer func(net.Conn) error) error {
	urls, err := h.listen(count, answer)
	if err != nil {
		return err
	}
	return makeWebhooks(s, m, urls)
}

// listen adds receivers, and returns their addresses.
func (h *hooks) listen(count int, answer func(net.Conn) error) ([]string, error) {
	urls := make([]string, 0, count)
	for range count {
		r, err := receiver.New(h.secure, answer, h.arrive)
		if err != nil {
			return nil, err
		}
		h.receivers = append(h.receivers, r)
		urls = append(urls, r.URL)
	}
	return urls, nil
}

func (h *hooks) arrive(body []byte, at time.Time) {
	h.first.CompareAndSwap(nil, &at)
	h.arrived.Add(1)
	if h.take != nil {
		h.take(body, at)
	}
}

// await waits until so many deliveries have arrived, and their results are stored, if the server stores any.
func (h *hooks) await(s *server, deliveries int) error {
	if deliveries == 0 {
		return nil
	}
	if err := h.awaitArrivals(int64(deliveries)); err != nil || h.forgets {
		return err
	}
	db, err := s.open()
	if err != nil {
		return err
	}
	defer db.Close()
	var stored int
	for end := time.Now().Add(deliveryTimeout); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if err := db.QueryRow(
			"SELECT count(*) FROM deliveries WHERE status = 'delivered'",
		).Scan(&stored); err != nil || stored >= deliveries {
			return err
		}
	}
	return fmt.Errorf("only %d of %d results are stored", stored, deliveries)
}

func (h *hooks) awaitArrivals(want int64) error {
	for end := time.Now().Add(deliveryTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if h.arrived.Load() >= want {
			return nil
		}
	}
	return fmt.Errorf("only %d of %d deliveries arrived", h.arrived.Load(), want)
}

func (h *hooks) close() {
	for _, r := range h.receivers {
		r.Close()
	}
}

// makeWebhooks registers a webhook for each address. It registers a few by the command, and copies the others.
func makeWebhooks(s *server, m member, urls []string) error {
	const few = 20
	var id string
	for n, url := range urls {
		if n >= few {
			return copyWebhooks(s, id, urls[n:])
		}
		var err error
		if id, err = s.create("id", "webhook", m.id, url); err != nil {
			return err
		}
	}
	return nil
}

func copyWebhooks(s *server, id string, urls []string) error {
	db, err := s.open()
	if err != nil {
		return err
	}
	defer db.Close()
	for n, url := range urls {
		_, err := db.Exec(`INSERT INTO webhooks (id, tenant, url, secret, events, headers, created, updated)
			SELECT ?, tenant, ?, secret, events, headers, created, updated FROM webhooks WHERE id = ?`,
			fmt.Sprintf("w%014d", n), url, id)
		if err != nil {
			return err
		}
	}
	return nil
}

// installation is our server on a new data directory with one tenant, and its webhooks.
type installation struct {
	*server
	member
	hooks hooks
}

func (b *bench) installation() (*installation, error) {
	i := &installation{server: &server{binary: b.binary, dir: b.temporary("deliveries")}}
	var err error
	i.member, err = i.newMember()
	return i, err
}

// remove closes the receivers and deletes the data directory.
func (i *installation) remove() {
	i.hooks.close()
	_ = os.RemoveAll(i.dir)
}
