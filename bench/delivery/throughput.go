package main

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"contactbase/bench/receiver"
)

// throughput measures how fast a backlog is delivered to receivers that answer at once, until the last attempt is
// stored.
func throughput(b *bench) error {
	fmt.Fprintf(b.out, "\n### Throughput: a backlog of %d deliveries, receivers that answer at once\n\n", *drained)
	fmt.Fprintln(b.out, "| endpoints | deliveries/s (min–max) | server CPU per delivery | peak RSS |")
	fmt.Fprintln(b.out, "|---|---|---|---|")
	for _, endpoints := range []int{1, 10} {
		var rates []float64
		var cpu time.Duration
		var memory int
		for range *rounds {
			rate, used, peak, err := b.drain(crowd{endpoints: endpoints, answer: receiver.AtOnce}, *drained)
			if err != nil {
				return err
			}
			rates = append(rates, rate)
			cpu += used
			memory = max(memory, peak)
		}
		fmt.Fprintf(b.out, "| %d | %s | %s | %d MiB |\n", endpoints, spread(rates, "%.0f"), (cpu / time.Duration(*rounds**drained)).Round(time.Microsecond), memory)
	}
	return nil
}

// crowd is receivers that are all alike.
type crowd struct {
	endpoints int
	answer    func(net.Conn) error
	secure    *authority // who they are certified by; nil for HTTP
}

// drain delivers a backlog. The clock runs from the first arrival until nothing is pending.
func (b *bench) drain(c crowd, count int) (perSecond float64, cpu time.Duration, memory int, err error) {
	i, err := b.newInstallation()
	if err != nil {
		return 0, 0, 0, err
	}
	defer i.remove()
	var arrived atomic.Int64
	var began time.Time
	var once sync.Once
	all := make(chan struct{})
	take := func([]byte, time.Time) {
		once.Do(func() { began = time.Now() })
		if arrived.Add(1) == int64(count) {
			close(all)
		}
	}
	if c.secure != nil {
		i.trusted = c.secure.path
	}
	urls, closeAll, err := c.receivers(take)
	if err != nil {
		return 0, 0, 0, err
	}
	defer closeAll()
	webhooks, err := i.webhooks(urls...)
	if err != nil {
		return 0, 0, 0, err
	}
	if err := i.fill(count, count, webhooks); err != nil {
		return 0, 0, 0, err
	}
	if err := i.serve(); err != nil {
		return 0, 0, 0, err
	}
	defer i.stop()
	select {
	case <-all:
	case <-time.After(10 * time.Minute):
		return 0, 0, 0, fmt.Errorf("only %d of %d deliveries arrived", arrived.Load(), count)
	}
	if err := i.awaitStored(); err != nil {
		return 0, 0, 0, err
	}
	return float64(count) / time.Since(began).Seconds(), i.cpu(), i.memory(), nil
}

// awaitStored waits until no event is to be placed and no delivery is pending.
func (i *installation) awaitStored() error {
	db, err := i.open()
	if err != nil {
		return err
	}
	defer db.Close()
	for {
		var pending bool
		err := db.QueryRow("SELECT EXISTS (SELECT 1 FROM deliveries WHERE status = 'pending') OR (SELECT event FROM _fanOutCursor) != (SELECT id FROM events ORDER BY rowid DESC LIMIT 1)").Scan(&pending) //nolint:noctx // bounded by the busy timeout
		if err != nil || !pending {
			return err
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// receivers starts the crowd.
func (c crowd) receivers(take func([]byte, time.Time)) (urls []string, closeAll func(), err error) {
	var config *tls.Config
	if c.secure != nil {
		config = c.secure.config
	}
	var all []*receiver.Receiver
	closeAll = func() {
		for _, r := range all {
			r.Close()
		}
	}
	for range c.endpoints {
		r, err := receiver.NewSecure(config, c.answer, take)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		all = append(all, r)
		urls = append(urls, r.URL)
	}
	return urls, closeAll, nil
}
