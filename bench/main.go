// Command bench measures the server side by side with plain PocketBase and with what the machine can do at most, in one
// run and in alternation, and prints a Markdown table.
//
//	go run ./bench            # minutes
//	go run ./bench -contacts 1000000 -rounds 1 -seconds 10
package main

import (
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"
)

var (
	rounds      = flag.Int("rounds", 3, "how often each phase is measured on each server, in alternation")
	seconds     = flag.Float64("seconds", 3, "how long each measurement takes")
	contacts    = flag.Int("contacts", 100_000, "how many contacts the reading phases find")
	connections = flag.Int("connections", 32, "connections that are kept alive")
	only        = flag.String("only", "", "a part of the names of the phases to run")
	profile     = flag.String("profile", "", "a folder for CPU profiles of our server, one a phase")
)

func main() {
	flag.Parse()
	if err := benchmark(); err != nil { // its servers are down by then
		log.Fatal(err)
	}
}

func benchmark() error {
	dir, err := os.MkdirTemp("", "contactbase-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ours, plain, binary, err := prepare(dir)
	defer ours.stop()
	defer plain.stop()
	if err != nil {
		return err
	}

	floor, closeFloor := bareServer()
	defer closeFloor()
	client := newClient(*connections)
	single := newClient(1)
	length := time.Duration(*seconds * float64(time.Second))

	results := newTable()
	bare := run(client, floor, nil, *connections, length, 0, readOne([]string{"x"}, "/"))
	fmt.Printf("bare net/http: %.0f/s\n", bare.perSecond)

	for _, phase := range phases(ours, plain, binary) {
		if !matches(phase.name) {
			continue
		}
		if err := phase.setUp(); err != nil {
			return fmt.Errorf("%s: %w", phase.name, err)
		}
		for range *rounds {
			for _, side := range []struct {
				target *target
				next   request
			}{{ours, phase.ours}, {plain, phase.plain}} {
				if side.next == nil {
					continue
				}
				c, n := client, *connections
				if phase.single {
					c, n = single, 1
				}
				before := side.target.cpu()
				stopProfile := profileOf(side.target, phase.name)
				measured := run(c, side.target.base, side.target.header, n, length, 0, side.next)
				stopProfile()
				results.add(phase.name, side.target.name, measured, side.target.cpu()-before)
				if measured.errors > 0 {
					return fmt.Errorf("%s, %s: %d errors, the first: %s", phase.name, side.target.name, measured.errors, measured.firstError)
				}
			}
		}
		results.print(os.Stdout, phase.name)
	}
	now, peak := ours.memory()
	fmt.Printf("\nour server: ready after %v at the start, RSS %d MiB now, %d MiB at its peak\n", ours.ready.Round(time.Millisecond), now, peak)
	now, peak = plain.memory()
	fmt.Printf("plain PocketBase: RSS %d MiB now, %d MiB at its peak\n", now, peak)
	ours.stop()
	if err := ours.start(binary); err != nil {
		return err
	}
	fmt.Printf("our server: ready after %v with %d contacts\n", ours.ready.Round(time.Millisecond), *contacts)
	return nil
}

func prepare(dir string) (ours, plain *target, binary string, err error) {
	ours = &target{name: "ours", dir: filepath.Join(dir, "ours-data"), header: http.Header{}}
	plain = &target{name: "plain", dir: filepath.Join(dir, "plain-data"), header: http.Header{}}
	if binary, err = build(dir, "contactbase", "."); err != nil {
		return ours, plain, "", err
	}
	plainBinary, err := build(dir, "plain", "./bench/plain")
	if err != nil {
		return ours, plain, "", err
	}
	if _, err := runJSON(binary, ours.dir, "tenant", "create", "Bench", "--rateLimit", "1000000000"); err != nil {
		return ours, plain, "", err
	}
	key, err := runJSON(binary, ours.dir, "key", "create", "Bench")
	if err != nil {
		return ours, plain, "", err
	}
	ours.header["X-Api-Key"] = []string{key["key"].(string)}
	arguments := []string{}
	if *profile != "" {
		arguments = append(arguments, "--debugAddr", debugAddress)
	}
	if err := ours.start(binary, arguments...); err != nil {
		return ours, plain, "", err
	}
	return ours, plain, binary, plain.start(plainBinary)
}
