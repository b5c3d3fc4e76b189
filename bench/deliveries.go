package main

import (
	"fmt"
	"net"
	"strconv"
	"time"

	"contactbase/bench/receiver"
)

// deliveries measures webhooks.
func (b *bench) deliveries() error {
	for _, m := range []struct {
		name string
		run  func() error
	}{
		{"throughput", b.throughput},
		{"limits", b.limits},
		{"latency", b.latency},
		{"isolation", b.isolation},
		{"backlogs", b.backlogs},
	} {
		if !wanted(m.name) {
			continue
		}
		if err := m.run(); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

func (b *bench) section(format string, arguments ...any) {
	fmt.Fprintf(b.out, "\n## "+format+"\n", arguments...)
}

// crowd is receivers that answer alike, and the deliveries that wait for them.
type crowd struct {
	name      string
	endpoints int
	answer    func(net.Conn) error
	secure    *authority // that certifies them; nil for HTTP
	count     int        // deliveries
}

// throughput measures a backlog for receivers that answer immediately.
func (b *bench) throughput() error {
	b.section("Throughput: a backlog, and receivers that answer immediately")
	return b.drain([]crowd{
		{"1", 1, receiver.AtOnce, nil, *drained},
		{"10", 10, receiver.AtOnce, nil, *drained},
	})
}

// limits measures a backlog for receivers that take time, and for some whose connections cost a handshake.
func (b *bench) limits() error {
	secure, err := newAuthority(b.dir)
	if err != nil {
		return err
	}
	b.section("Limits: a backlog, and receivers that take time, with the default settings")
	return b.drain([]crowd{
		{"1, after 50 ms", 1, receiver.After(50 * time.Millisecond), nil, *drained / 10},
		{"10, after 50 ms", 10, receiver.After(50 * time.Millisecond), nil, *drained},
		{"1000, after 1 s", 1_000, receiver.After(time.Second), nil, 2 * *drained},
		{"10 over TLS, immediately", 10, receiver.AtOnce, secure, *drained},
		{"10 over TLS, immediately, without keep-alive", 10, receiver.AndClose, secure, *drained},
	})
}

// drain measures how fast backlogs are delivered, in alternation.
func (b *bench) drain(crowds []crowd) error {
	found := make([]samples, len(crowds))
	for round := range *rounds {
		for i := range crowds {
			n := (round + i) % len(crowds)
			s, err := b.drainOne(crowds[n])
			if err != nil {
				return fmt.Errorf("receivers: %s: %w", crowds[n].name, err)
			}
			found[n] = append(found[n], s)
		}
	}
	b.titles("receivers | deliveries | deliveries/s (min–max) | server CPU per delivery | memory at its peak")
	for n, all := range found {
		rates := each(all, func(s sample) float64 { return s.perSecond })
		b.row(crowds[n].name, strconv.Itoa(crowds[n].count), spread(rates), all.cpu(), fmt.Sprintf("%d MiB", all.memory()))
	}
	return nil
}

// drainOne delivers a backlog. It takes from the first arrival until all results are stored.
func (b *bench) drainOne(c crowd) (result sample, err error) {
	i, err := b.installation()
	if err != nil {
		return result, err
	}
	defer i.remove()
	if c.secure != nil {
		i.hooks.secure, i.environment = c.secure.config, []string{"SSL_CERT_FILE=" + c.secure.path}
	}
	if err := i.hooks.add(i.server, i.member, c.endpoints, c.answer); err != nil {
		return result, err
	}
	if err := i.fillQueue(c.count, c.count); err != nil {
		return result, err
	}
	if err := i.start(); err != nil {
		return result, err
	}
	defer i.stop()
	if err := i.hooks.await(i.server, c.count); err != nil {
		return result, err
	}
	result.sent = c.count
	result.took(time.Since(*i.hooks.first.Load()))
	_, result.memory = i.memory()
	result.cpu = i.cpu() / time.Duration(c.count)
	return result, nil
}
