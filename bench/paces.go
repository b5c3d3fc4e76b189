package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	perNeighbour = 50 // creates a second of the tenant beside a flood
	floodName    = "flood"
)

// paces are the ways to create contacts at a rate.
var paces = []struct {
	name      string
	neighbour bool // perNeighbour creates of a tenant without contacts, otherwise half of what the server takes
	flood     bool // beside as many creates of another tenant as the server takes
}{
	{"half of what the server takes", false, false},
	{"of a tenant alone", true, false},
	{"of a tenant beside a flood of another one", true, true},
}

// atRates measures how long creates take at half of the rate that was reached, and those of a tenant while another one sends as many as
// it can.
func (c *comparison) atRates() error {
	c.titles("creates at random moments, from when they were due | server | creates/s | p50 (min–max) | p99 (min–max) | p99 by p99 alone")
	found := make([]map[*arm]samples, len(paces))
	for i := range paces {
		found[i] = map[*arm]samples{}
	}
	err := c.alternate(func(a *arm, round int) error {
		for i := range paces {
			s, err := c.paceOne(a, i, uint64(round))
			if err != nil {
				return err
			}
			found[i][a] = append(found[i][a], s)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p50, p99 := func(s sample) time.Duration { return s.p50 }, func(s sample) time.Duration { return s.p99 }
	for i, way := range paces {
		for _, a := range c.arms {
			ratio := "–"
			if way.flood {
				var ratios []float64
				for round, s := range found[i][a] {
					ratios = append(ratios, float64(s.p99)/float64(found[i-1][a][round].p99))
				}
				ratio = spread(ratios)
			}
			c.row(way.name, a.name, short(c.perSecond(a, i)), spread(each(found[i][a], p50)), spread(each(found[i][a], p99)), ratio)
		}
	}
	return nil
}

func (c *comparison) perSecond(a *arm, way int) float64 {
	if paces[way].neighbour {
		return perNeighbour
	}
	return c.rates[a] / 2
}

// paceOne measures on a server of its own.
func (c *comparison) paceOne(a *arm, way int, seed uint64) (result sample, err error) {
	s, remove, err := c.copyOf(a)
	if err != nil {
		return result, err
	}
	defer remove()
	if err := s.start(); err != nil {
		return result, err
	}
	defer s.stop()
	p := pace{perSecond: c.perSecond(a, way), length: warmUp, seed: seed, next: creates(a.population)}
	if paces[way].neighbour {
		p.next = func(_ int64, random *rand.Rand) call { return a.create(a.neighbour, random.Int64N(1<<40)) }
	}
	if _, err := p.run(s.base); err != nil {
		return result, err
	}
	wait := func() error { return nil }
	if paces[way].flood {
		if wait, err = (flood{s.base, a.plain, a.members[0].id, a.members[0].key, *connections, *length}).start(); err != nil {
			return result, err
		}
	}
	p.length, p.seed = *length, seed+100
	result, err = p.run(s.base)
	if failed := wait(); failed != nil {
		return result, fmt.Errorf("the flood: %w", failed)
	}
	return result, err
}

// flood is as many creates as a server takes. A process of its own sends them: in this one, they would delay the requests that
// are measured.
type flood struct {
	Base        string
	Plain       bool
	Tenant      string
	Key         string
	Connections int
	Length      time.Duration
}

// start starts the process, and returns a function that waits for its end.
func (f flood) start() (wait func() error, err error) {
	executable, err := os.Executable()
	if err != nil {
		return nil, err
	}
	order, err := json.Marshal(f)
	if err != nil {
		return nil, err
	}
	command := exec.Command(executable, floodName)
	command.Stdin, command.Stderr = strings.NewReader(string(order)), os.Stderr
	return command.Wait, command.Start()
}

// sendFlood is what that process does.
func sendFlood(order io.Reader) error {
	var f flood
	if err := json.NewDecoder(order).Decode(&f); err != nil {
		return err
	}
	p := &population{plain: f.Plain, members: []member{{f.Tenant, f.Key}}}
	_, err := load{connections: f.Connections, length: f.Length, seed: 1_000, next: creates(p)}.run(f.Base)
	return err
}
