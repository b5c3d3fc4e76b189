package main

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"
)

// comparison measures phases on arms in alternation.
type comparison struct {
	*bench
	arms   []*arm
	ratio  string                             // the title of the ratios
	divide func(first, other float64) float64 // returns the ratio of an arm's rate
	rates  map[*arm]float64                   // of creates
}

// requests compares our server with plain PocketBase.
func (b *bench) requests() error {
	c, err := b.besidePlain()
	if err != nil {
		return err
	}
	if err := c.run(requestPhases()); err != nil {
		return err
	}
	if len(c.rates) > 0 && wanted("at a rate") {
		if err := c.atRates(); err != nil {
			return err
		}
	}
	c.printArms()
	return b.others(c.arms[0])
}

// webhooks compares creates with webhooks with hooks of plain PocketBase.
func (b *bench) webhooks() error {
	c, err := b.besidePlain()
	if err != nil {
		return err
	}
	if err := c.run([]*phase{
		{name: "create with 3 webhooks", plain: true, writes: true,
			perSecond: createsPerSecond, webhooks: 3, requests: creates},
	}); err != nil {
		return err
	}
	c.printArms()
	return nil
}

// besidePlain returns the comparison of our server with plain PocketBase.
func (b *bench) besidePlain() (*comparison, error) {
	c := &comparison{
		bench: b, ratio: "ours by it", divide: func(ours, other float64) float64 { return ours / other },
		rates: map[*arm]float64{},
	}
	dir := cmp.Or(*folders, b.dir)
	c.arms = []*arm{
		{population: &population{tenants: 1, contacts: *contacts}, name: "ours",
			binary: b.binary, dir: filepath.Join(dir, fmt.Sprintf("ours-%d", *contacts))},
	}
	if *before != "" {
		c.arms = append(c.arms, &arm{
			population: &population{tenants: 1, contacts: *contacts}, name: "ours before",
			binary: *before, dir: filepath.Join(dir, fmt.Sprintf("before-%d", *contacts)),
		})
	}
	return c, c.addPlain(filepath.Join(dir, fmt.Sprintf("plain-%d", *contacts)))
}

// The values of PLAIN_WEBHOOKS: see bench/plain.
const (
	sendsRows  = "rows"
	sendsPosts = "posts"
)

// addPlain adds plain PocketBase in several settings, which share a directory. Those that send are only in
// phases with webhooks.
func (c *comparison) addPlain(dir string) error {
	if *alone {
		return nil
	}
	binary, err := build(c.dir, "plain", "./bench/plain")
	if err != nil {
		return err
	}
	full := []string{"PLAIN_SYNCHRONOUS=FULL"}
	arms := []*arm{
		{name: "plain"}, {name: "plain, synchronous=FULL", environment: full},
		{name: "plain, a row for each delivery", sends: sendsRows},
		{name: "plain, a row for each delivery, synchronous=FULL", sends: sendsRows, environment: full},
		{name: "plain, only posts", sends: sendsPosts},
	}
	if *withLog {
		arms = append(arms, &arm{name: "plain, request log on", environment: []string{"PLAIN_LOG=on"}})
	}
	shared := &population{plain: true, tenants: 1, contacts: *contacts}
	for _, a := range arms {
		a.population, a.binary, a.dir = shared, binary, dir
	}
	c.arms = append(c.arms, arms...)
	return nil
}

// compareSizes compares our server with few contacts and with many.
func (b *bench) compareSizes() error {
	c := &comparison{
		bench: b, ratio: "ratio", divide: func(first, other float64) float64 { return other / first },
		rates: map[*arm]float64{},
	}
	for text := range strings.SplitSeq(*sizes, ",") {
		p, err := parsePopulation(text)
		if err != nil {
			return err
		}
		c.arms = append(c.arms, &arm{
			population: p, name: "ours", binary: b.binary, dir: filepath.Join(cmp.Or(*folders, b.dir), text),
		})
	}
	if err := c.run(append(commonPhases(), &phase{
		name: "create, all of one tenant", writes: true, perSecond: createsPerSecond, requests: createsOfOne,
	})); err != nil {
		return err
	}
	c.printArms()
	return nil
}

// run fills the directories, and prints a row for each phase and arm.
func (c *comparison) run(phases []*phase) error {
	for _, a := range c.arms {
		if a.members != nil {
			continue // shares them with another arm
		}
		if err := a.fill(a.server(a.dir)); err != nil {
			return fmt.Errorf("filling %s: %w", a.dir, err)
		}
	}
	c.titles("request | server | contacts | " + c.ratio + " | " + figureTitles)
	for _, p := range phases {
		if !wanted(p.name) {
			continue
		}
		if err := c.phase(p); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}

func (c *comparison) phase(p *phase) error {
	measured := map[*arm]samples{}
	err := c.alternate(func(a *arm, round int) error {
		if !a.has(p) {
			return nil
		}
		found, err := c.measure(a, p, uint64(2*round))
		measured[a] = append(measured[a], found)
		return err
	})
	if err != nil {
		return err
	}
	for _, a := range c.arms {
		if all := measured[a]; all != nil {
			ratio := fmt.Sprintf("%.2f", c.divide(measured[c.arms[0]].rate(), all.rate()))
			c.row(append([]string{p.name, a.name, a.String(), ratio}, all.figures()...)...)
			if p.name == createPhase {
				c.rates[a] = all.rate()
			}
		}
	}
	return nil
}

// alternate calls do in each round for each arm. A round begins with the arm that was second in the round before.
func (c *comparison) alternate(do func(a *arm, round int) error) error {
	for round := range *rounds {
		for i := range c.arms {
			a := c.arms[(round+i)%len(c.arms)]
			if err := do(a, round); err != nil {
				return fmt.Errorf("%s, %s: %w", a.name, a, err)
			}
		}
	}
	return nil
}

// printArms prints what the arms' servers have taken in all phases.
func (c *comparison) printArms() {
	c.titles("server | contacts | on disk | memory at its peak | from the start to the first answer")
	for _, a := range c.arms {
		if len(a.measured) > 0 {
			c.row(a.name, a.String(), fmt.Sprintf("%d MiB", size(a.dir)>>20),
				fmt.Sprintf("%d MiB", a.measured.memory()), median(a.starts).Round(time.Millisecond).String())
		}
	}
}
