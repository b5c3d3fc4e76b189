package main

import (
	"database/sql"
	"fmt"
	"syscall"
	"time"
)

// fillQueue writes pending deliveries, in turn for all webhooks, each of its own event, about so many contacts.
func (i *installation) fillQueue(count, contacts int) error {
	db, err := i.open()
	if err != nil {
		return err
	}
	defer db.Close()
	now := time.Now().UTC().Format("2006-01-02 15:04:05.000Z")
	const step = 100_000
	for from := 0; from < count; from += step {
		tx, err := db.Begin()
		if err != nil {
			return err
		}
		defer tx.Rollback()
		for _, statement := range []string{
			fillContacts, fillEvents, fillDeliveries, blockBehind + ` AND id >= printf('d%014d', :from)`, moveToEnd,
		} {
			_, err := tx.Exec(statement, sql.Named("from", from), sql.Named("to", min(from+step, count)),
				sql.Named("tenant", i.id), sql.Named("contacts", contacts), sql.Named("now", now))
			if err != nil {
				return fmt.Errorf("filling the queue: %w", err)
			}
		}
		if err := tx.Commit(); err != nil {
			return err
		}
	}
	syscall.Sync() // otherwise the first commits wait for the disk
	return nil
}

const (
	numbers = `WITH RECURSIVE n(i) AS (SELECT :from UNION ALL SELECT i + 1 FROM n WHERE i + 1 < :to) `

	// fillContacts is there because events of deleted contacts would be redacted.
	fillContacts = `INSERT OR IGNORE INTO contacts
		(id, tenant, name, email, phone, company, externalId, created, updated) ` +
		numbers + `
		SELECT printf('c%014d', i % :contacts), :tenant,
			'Grace Hopper', 'grace@example.com', '+12025550143', 'Navy', '', :now, :now FROM n`

	fillEvents = `INSERT INTO events (id, tenant, type, contact, payload, created) ` + numbers + `
		SELECT printf('e%014d', i), :tenant, 'contact.updated', printf('c%014d', i % :contacts), printf(
			'{"id":"evt_e%014d","type":"contact.updated","timestamp":"2026-01-31T12:00:00.000Z",'
			|| '"data":{"id":"c%014d","name":"Grace Hopper","email":"grace@example.com","phone":"+12025550143",'
			|| '"company":"Navy","externalId":null,"createdAt":"2026-01-31T12:00:00.000Z",'
			|| '"updatedAt":"2026-01-31T12:00:00.000Z"},"previous":{"company":"Yale"}}',
			i, i % :contacts), :now FROM n`

	fillDeliveries = `INSERT INTO deliveries
		(id, event, webhook, tenant, status, attempts, nextAttempt, lastStatus, lastError, created, updated, contact) ` +
		numbers + `, w(id, n) AS (SELECT id, row_number() OVER (ORDER BY id) - 1 FROM webhooks)
		SELECT printf('d%014d', i), printf('e%014d', i), w.id, :tenant, 'pending', 0, :now, 0, '', :now, :now,
			printf('c%014d', i % :contacts)
		FROM n JOIN w ON w.n = i % (SELECT count(*) FROM webhooks) ORDER BY i`

	// moveToEnd moves the fan-out cursor to the last event, because all events have their deliveries.
	moveToEnd = `UPDATE _fanOutCursor SET event = (SELECT id FROM events ORDER BY rowid DESC LIMIT 1)`

	// blockBehind blocks pending deliveries behind earlier ones of the same contact and webhook.
	blockBehind = `UPDATE deliveries SET blocked = 1 WHERE status = 'pending' AND blocked = 0 AND EXISTS (
		SELECT 1 FROM deliveries p WHERE p.webhook = deliveries.webhook AND p.contact = deliveries.contact AND p.contact != ''
			AND p.status = 'pending' AND p.rowid < deliveries.rowid)`
)
