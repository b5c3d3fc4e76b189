package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"

	"contactbase/bench/receiver"
)

const (
	perNeighbour = 50 // creates a second of the tenant beside a flood
	floodName    = "flood"
)

// paces are the ways to create contacts at a rate. Ratios are to the way before.
var paces = []struct {
	name      string
	neighbour bool // perNeighbour creates of a tenant without contacts, otherwise half of what the server takes
	flood     bool // as many creates of another tenant as the server takes
	webhooks  int  // of either tenant
}{
	{"half of what the server takes", false, false, 0},
	{"of a tenant alone", true, false, 0},
	{"of a tenant beside a flood of another one", true, true, 0},
	{"a flood alone", false, true, 0},
	{"of a tenant alone, 3 webhooks", true, false, 3},
	{"of a tenant beside a flood of another one, 3 webhooks", true, true, 3},
	{"a flood alone, 3 webhooks", false, true, 3},
}

// paced is the figures of a way.
type paced struct {
	sample
	flood float64 // creates a second
}

// atRates measures how long creates take at half of the rate that was reached, and those of a tenant while another
// one sends as many as it can.
func (c *comparison) atRates() error {
	c.titles("creates at random moments, from when they were due | server | creates/s " +
		"| p50 (min–max) | p99 (min–max) | p99 by p99 alone | creates/s of the flood")
	found := make([]map[*arm][]paced, len(paces))
	for i := range paces {
		found[i] = map[*arm][]paced{}
	}
	err := c.alternate(func(a *arm, round int) error {
		for i := range paces {
			if a.plain && (paces[i].webhooks > 0 || a.sends != "") {
				continue
			}
			s, err := c.paceOne(a, i, uint64(round))
			if err != nil {
				return fmt.Errorf("%s: %w", paces[i].name, err)
			}
			found[i][a] = append(found[i][a], s)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i := range paces {
		for _, a := range c.arms {
			if all := found[i][a]; all != nil {
				c.rowOfPace(a, i, all, found[max(i-1, 0)][a])
			}
		}
	}
	return nil
}

// rowOfPace prints a row; alone is the figures of the way before.
func (c *comparison) rowOfPace(a *arm, i int, all, alone []paced) {
	way := paces[i]
	p50, p99 := func(s paced) time.Duration { return s.p50 }, func(s paced) time.Duration { return s.p99 }
	ratio, flood := "–", "–"
	if way.flood {
		flood = spread(each(all, func(s paced) float64 { return s.flood }))
	}
	if way.flood && way.neighbour {
		var ratios []float64
		for round, s := range all {
			ratios = append(ratios, float64(s.p99)/float64(alone[round].p99))
		}
		ratio = spread(ratios)
	}
	if way.flood && !way.neighbour {
		c.row(way.name, a.name, "–", "–", "–", ratio, flood)
		return
	}
	c.row(way.name, a.name, short(c.perSecond(a, i)), spread(each(all, p50)), spread(each(all, p99)), ratio, flood)
}

func (c *comparison) perSecond(a *arm, way int) float64 {
	switch {
	case paces[way].neighbour:
		return perNeighbour
	case paces[way].flood:
		return 0
	default:
		return c.rates[a] / 2
	}
}

// paceOne measures on a server of its own.
func (c *comparison) paceOne(a *arm, i int, seed uint64) (result paced, err error) {
	way := paces[i]
	s, remove, err := c.copyOf(a)
	if err != nil {
		return result, err
	}
	defer remove()
	h := &hooks{}
	defer h.close()
	for _, m := range []member{a.members[0], a.neighbour} {
		if err := h.add(s, m, way.webhooks, receiver.AtOnce); err != nil {
			return result, err
		}
	}
	if err := s.start(); err != nil {
		return result, err
	}
	defer s.stop()
	p := pace{perSecond: max(1, c.perSecond(a, i)), length: warmUp, seed: seed, next: creates(a.population)}
	if way.neighbour {
		p.next = func(_ int64, random *rand.Rand) call { return a.create(a.neighbour, random.Int64N(1<<40)) }
	}
	if _, err := p.run(s.base); err != nil {
		return result, err
	}
	wait := func() (float64, error) { return 0, nil }
	if way.flood {
		if wait, err = (flood{
			s.base, a.plain, a.members[0].id, a.members[0].key, *connections, *length,
		}).start(); err != nil {
			return result, err
		}
	}
	p.length, p.seed = *length, seed+100
	if way.neighbour || !way.flood {
		result.sample, err = p.run(s.base)
	}
	var failed error
	if result.flood, failed = wait(); failed != nil {
		return result, fmt.Errorf("the flood: %w", failed)
	}
	return result, err
}

// flood is as many creates as a server takes. A process of its own sends them: in this one, they would delay the
// requests that are measured.
type flood struct {
	Base        string
	Plain       bool
	Tenant      string
	Key         string
	Connections int
	Length      time.Duration
}

// start starts the process, and returns a function that waits for its end and returns its creates a second.
func (f flood) start() (wait func() (float64, error), err error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	order, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	command := exec.Command(executable, floodName)
	var rate bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(string(order)), &rate, os.Stderr
	wait = func() (perSecond float64, err error) {
		if err = command.Wait(); err != nil {
			return 0, err
		}
		err = json.Unmarshal(rate.Bytes(), &perSecond)
		return perSecond, err
	}
	return wait, command.Start()
}

// sendFlood is what that process does.
func sendFlood(order io.Reader) error {
	var f flood
	if err := json.NewDecoder(order).Decode(&f); err != nil {
		return err
	}
	p := &population{plain: f.Plain, members: []member{{f.Tenant, f.Key}}}
	sent, err := load{connections: f.Connections, length: f.Length, seed: 1_000, next: creates(p)}.run(f.Base)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(sent.perSecond)
}
