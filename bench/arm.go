package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"contactbase/bench/receiver"
)

const debugAddress = "127.0.0.1:16060" // where our server shows its profiles

// arm is a program with a population and settings, one of those that are compared.
type arm struct {
	*population
	name        string
	binary, dir string
	environment []string
	sends       string          // how plain PocketBase sends webhooks: a value of PLAIN_WEBHOOKS; "" if it does not
	measured    samples         // of all phases
	starts      []time.Duration // from the start of the process to the first answer
}

// server returns the arm's server for a directory.
func (a *arm) server(dir string) *server {
	s := &server{binary: a.binary, dir: dir, environment: a.environment}
	if *profiles != "" && !a.plain {
		s.arguments = []string{"--debugAddr", debugAddress}
	}
	return s
}

// has reports whether the arm is measured in a phase.
func (a *arm) has(p *phase) bool {
	return !a.plain || p.plain && (p.webhooks > 0) == (a.sends != "")
}

// warmUp is how long a server works before it is measured.
const warmUp = time.Second

// copyOf returns a server of the arm on a copy of its directory, so that each measurement that writes finds
// the same contacts.
func (b *bench) copyOf(a *arm) (s *server, remove func(), err error) {
	s = a.server(b.temporary("copy"))
	if err := os.CopyFS(s.dir, os.DirFS(a.dir)); err != nil {
		return nil, nil, err
	}
	syscall.Sync() // otherwise the first commits wait for the disk
	return s, func() { _ = os.RemoveAll(s.dir) }, nil
}

// measure measures a phase on a server that has just started.
func (b *bench) measure(a *arm, p *phase, seed uint64) (result sample, err error) {
	s := a.server(a.dir)
	if p.writes {
		var remove func()
		if s, remove, err = b.copyOf(a); err != nil {
			return result, err
		}
		defer remove()
	}
	h := &hooks{forgets: a.sends == sendsPosts}
	defer h.close()
	if err := a.addWebhooks(s, h, p.webhooks); err != nil {
		return result, err
	}
	if err := s.start(); err != nil {
		return result, err
	}
	defer s.stop()
	if result, err = p.send(a, s, h, seed); err != nil {
		return result, err
	}
	_, result.memory = s.memory()
	a.measured, a.starts = append(a.measured, result), append(a.starts, s.ready)
	return result, nil
}

// addWebhooks adds webhooks, while no server has the directory. Plain PocketBase gets them when it starts.
func (a *arm) addWebhooks(s *server, h *hooks, count int) error {
	if !a.plain {
		return h.add(s, a.members[0], count, receiver.AtOnce)
	}
	urls, err := h.listen(count, receiver.AtOnce)
	if count > 0 {
		s.environment = append(slices.Clone(s.environment), "PLAIN_WEBHOOKS="+a.sends, "PLAIN_URLS="+strings.Join(urls, " "))
	}
	return err
}

// send sends the phase's requests, after some that do not count. With webhooks it lasts until the deliveries
// have arrived and their results are stored. The processor time includes what the server does afterwards, for
// its search index.
func (p *phase) send(a *arm, s *server, h *hooks, seed uint64) (result sample, err error) {
	l := load{connections: p.parallel(), length: warmUp, limit: 1_000, seed: seed, next: p.requests(a.population)}
	count := p.count()
	if count > 0 {
		l.length, l.limit = time.Hour, min(l.limit, max(1, count/10))
	}
	warmed, err := l.run(s.base)
	if err != nil {
		return result, err
	}
	if err := h.await(s, warmed.sent*len(h.receivers)); err != nil {
		return result, err
	}
	if err := p.settle(s); err != nil {
		return result, err
	}
	l.limit, l.seed = count, seed+1
	if count == 0 {
		l.length = duration()
	}
	profiled, used, began := a.profile(p.name), s.cpu(), time.Now()
	if result, err = l.run(s.base); err != nil {
		return result, err
	}
	if err := h.await(s, (warmed.sent+result.sent)*len(h.receivers)); err != nil {
		return result, err
	}
	result.took(time.Since(began))
	profiled()
	err = p.settle(s)
	result.cpu = (s.cpu() - used) / time.Duration(max(1, result.sent))
	return result, err
}

// settle waits until the server has indexed what was written.
func (p *phase) settle(s *server) error {
	if !p.writes {
		return nil
	}
	return s.settle()
}

// profile records a CPU profile of our server.
func (a *arm) profile(name string) (wait func()) {
	if *profiles == "" || a.plain {
		return func() {}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		response, err := http.Get(fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%.0f", debugAddress, max(1, *seconds)))
		if err != nil {
			return
		}
		defer response.Body.Close()
		file, err := os.Create(filepath.Join(*profiles, strings.ReplaceAll(a.name+" "+name, " ", "-")+".pprof"))
		if err != nil {
			return
		}
		defer file.Close()
		_, _ = io.Copy(file, response.Body)
	}()
	return func() { <-done }
}
