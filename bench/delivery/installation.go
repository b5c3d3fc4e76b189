package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // to fill and to read databases that nobody serves
)

const startPatience = time.Minute

// build compiles the program as it is released.
func build(path string) error {
	command := exec.Command("go", "build", "-trimpath", "-o", path, "contactbase")
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	return command.Run()
}

// installation is a data directory with a tenant and its key.
type installation struct {
	binary string
	data   string
	tenant string
	key    string

	trusted string // a file of certificates that the server trusts; "" for the system's

	base    string // of the server, while there is one
	command *exec.Cmd
}

func (b *bench) newInstallation() (*installation, error) {
	b.count++
	i := &installation{binary: b.binary, data: filepath.Join(b.dir, fmt.Sprintf("data%d", b.count))}
	tenant, err := i.run("tenant", "create", "Bench", "--rateLimit", "1000000000")
	if err != nil {
		return nil, err
	}
	i.tenant = tenant["id"].(string)
	key, err := i.run("key", "create", i.tenant)
	if err != nil {
		return nil, err
	}
	i.key = key["key"].(string)
	return i, nil
}

// remove deletes the folder, unless it is to be kept.
func (i *installation) remove() {
	if *keep == "" {
		_ = os.RemoveAll(i.data)
	}
}

// run runs a command and returns the object that it prints.
func (i *installation) run(args ...string) (map[string]any, error) {
	command := exec.Command(i.binary, append(args, "--dir", i.data, "--json")...)
	command.Env = append(os.Environ(), "CONTACTBASE_WEBHOOK_ALLOW=127.0.0.0/8")
	command.Stderr = os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	var object map[string]any
	return object, json.Unmarshal(out, &object)
}

// webhooks registers a webhook for each address and returns their ids. Of many it registers a few, and copies the others.
func (i *installation) webhooks(urls ...string) ([]string, error) {
	const few = 20
	ids := make([]string, 0, len(urls))
	for n, url := range urls {
		if n >= few {
			return i.copies(ids, urls[n:])
		}
		webhook, err := i.run("webhook", "create", i.tenant, url)
		if err != nil {
			return nil, err
		}
		ids = append(ids, webhook["id"].(string))
	}
	return ids, nil
}

// copies adds copies of the first webhook that lead to the addresses, and returns all ids.
func (i *installation) copies(ids, urls []string) ([]string, error) {
	db, err := i.open()
	if err != nil {
		return nil, err
	}
	defer db.Close()
	for n, url := range urls {
		id := fmt.Sprintf("w%014d", n)
		_, err := db.Exec(`INSERT INTO webhooks (id, tenant, url, secret, events, headers, created, updated) SELECT ?, tenant, ?, secret, events, headers, created, updated FROM webhooks WHERE id = ?`, id, url, ids[0]) //nolint:noctx // nobody waits for it
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// serve starts the server and waits until it answers.
func (i *installation) serve() error {
	address, err := freeAddress()
	if err != nil {
		return err
	}
	i.base = "http://" + address
	args := []string{"serve", "--dir", i.data, "--http", address}
	if *debug != "" {
		args = append(args, "--debugAddr", *debug)
	}
	i.command = exec.Command(i.binary, args...)
	i.command.Env = append(os.Environ(), "CONTACTBASE_WEBHOOK_ALLOW=127.0.0.0/8")
	if i.trusted != "" {
		i.command.Env = append(i.command.Env, "SSL_CERT_FILE="+i.trusted)
	}
	i.command.Stderr = os.Stderr
	if err := i.command.Start(); err != nil {
		return err
	}
	for end := time.Now().Add(startPatience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		response, err := http.Get(i.base + "/api/health") //nolint:noctx // bounded by the loop
		if err == nil {
			response.Body.Close()
			return nil
		}
	}
	i.stop()
	return fmt.Errorf("the server does not answer")
}

// stop ends the server and waits for it.
func (i *installation) stop() {
	_ = i.command.Process.Signal(syscall.SIGTERM)
	_ = i.command.Wait()
}

func freeAddress() (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a local address
	if err != nil {
		return "", err
	}
	defer listener.Close()
	return listener.Addr().String(), nil
}

// memory returns the resident size of the server at its peak, in MiB.
func (i *installation) memory() int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", i.command.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			kib, _ := strconv.Atoi(fields[1])
			return kib / 1024
		}
	}
	return 0
}

// cpu returns the processor time that the server has used.
func (i *installation) cpu() time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", i.command.Process.Pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat)[strings.LastIndex(string(stat), ")")+1:])
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// open opens the database beside the server, or without it.
func (i *installation) open() (*sql.DB, error) {
	db, err := sql.Open("sqlite", filepath.Join(i.data, "data.db")+"?_pragma=busy_timeout(10000)&_pragma=synchronous(off)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// fill queues so many deliveries in turn to the webhooks, each of an event of its own, about so many contacts.
func (i *installation) fill(count, contacts int, webhooks []string) error {
	db, err := i.open()
	if err != nil {
		return err
	}
	defer db.Close()
	encoded, err := json.Marshal(webhooks)
	if err != nil {
		return err
	}
	const step = 100_000
	now := time.Now().UTC().Format("2006-01-02 15:04:05.000Z")
	for from := 0; from < count; from += step {
		tx, err := db.Begin() //nolint:noctx // nobody waits for it
		if err != nil {
			return err
		}
		for _, statement := range []string{fillContacts, fillEvents, fillDeliveries, blockBehind + ` AND id >= printf('d%014d', :from)`, moveToEnd} {
			_, err := tx.Exec(statement, //nolint:noctx // nobody waits for it
				sql.Named("from", from), sql.Named("to", min(from+step, count)), sql.Named("tenant", i.tenant), sql.Named("contacts", contacts),
				sql.Named("now", now), sql.Named("webhooks", string(encoded)), sql.Named("endpoints", len(webhooks)))
			if err != nil {
				return fmt.Errorf("filling the queue: %w", err)
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	if *analyze {
		_, err = db.Exec("ANALYZE") //nolint:noctx // nobody waits for it
	}
	return err
}

const (
	numbers = `WITH RECURSIVE n(i) AS (SELECT :from UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :to) `

	// without the contacts the events would be those of erased ones, and redacted
	fillContacts = `INSERT OR IGNORE INTO contacts (id, tenant, name, email, phone, company, externalId, created, updated) ` + numbers + `
		SELECT printf('c%014d', i % :contacts), :tenant, 'Grace Hopper', 'grace@example.com', '+12025550143', 'Navy', '', :now, :now FROM n`

	fillEvents = `INSERT INTO events (id, tenant, type, contact, payload, created) ` + numbers + `
		SELECT printf('e%014d', i), :tenant, 'contact.updated', printf('c%014d', i % :contacts), printf('{"id":"evt_e%014d","type":"contact.updated",'
			|| '"timestamp":"2026-01-31T12:00:00.000Z","data":{"id":"c%014d","name":"Grace Hopper","email":"grace@example.com","phone":"+12025550143",'
			|| '"company":"Navy","externalId":null,"createdAt":"2026-01-31T12:00:00.000Z","updatedAt":"2026-01-31T12:00:00.000Z"},"previous":{"company":"Yale"}}',
			i, i % :contacts), :now FROM n`

	fillDeliveries = `INSERT INTO deliveries (id, event, webhook, tenant, status, attempts, nextAttempt, lastStatus, lastError, created, updated, contact) ` +
		numbers + `SELECT printf('d%014d', i), printf('e%014d', i), json_extract(:webhooks, '$[' || (i % :endpoints) || ']'), :tenant,
			'pending', 0, :now, 0, '', :now, :now, printf('c%014d', i % :contacts) FROM n`

	// moveToEnd moves the fan-out cursor to the last event: all have their deliveries
	moveToEnd = `UPDATE _fanOutCursor SET event = (SELECT id FROM events ORDER BY rowid DESC LIMIT 1)`

	// blockBehind blocks the pending deliveries behind others of their contacts and webhooks
	blockBehind = `UPDATE deliveries SET blocked = 1 WHERE status = 'pending' AND blocked = 0 AND EXISTS (
		SELECT 1 FROM deliveries p WHERE p.webhook = deliveries.webhook AND p.contact = deliveries.contact AND p.contact != ''
			AND p.status = 'pending' AND p.rowid < deliveries.rowid)`
)
