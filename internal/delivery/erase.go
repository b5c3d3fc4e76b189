package delivery

import (
	"fmt"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// An erased event keeps what says nothing about the person: its id, type and time, and the contact's id, by which
// receivers of contact.deleted know what to delete on their side.
const redactedPayload = `json_object('id', json_extract(payload, '$.id'), 'type', type, 'timestamp', json_extract(payload, '$.timestamp'),
	'data', json_object('id', contact), 'erased', json('true'))`

// isErased is the condition on an event's payload to have been redacted.
const isErased = `json_extract(payload, '$.erased') IS 1`

// redactEventsSQL redacts the events that the condition after it selects, unless a delivery of theirs is pending.
const redactEventsSQL = `UPDATE events SET payload = ` + redactedPayload + `
WHERE contact != '' AND NOT ` + isErased + `
	AND NOT EXISTS (SELECT 1 FROM deliveries d WHERE d.event = events.id AND d.status = 'pending') AND `

// redactAttemptsSQL redacts the attempts of the deliveries in the list after it.
const redactAttemptsSQL = `UPDATE delivery_attempts SET responseHeaders = '{}', responseBody = ''
WHERE (responseBody != '' OR responseHeaders != '{}') AND delivery IN `

// erasedContactsSQL returns those of the contacts in ?1 that are gone.
const erasedContactsSQL = `SELECT DISTINCT j.value FROM json_each(?1) j
WHERE NOT EXISTS (SELECT 1 FROM contacts c WHERE c.id = j.value)`

// EraseContact redacts what is stored about a contact that is being deleted, in the transaction of its deletion: the
// payloads of its events, contact.deleted included, and the answers of its deliveries, as far as they were delivered or
// given up. What is still pending is redacted when it ends.
func EraseContact(tx core.App, contactID string) error {
	if contactID == "" {
		return nil
	}
	for _, statement := range []string{
		redactEventsSQL + "contact = {:contact}",
		redactAttemptsSQL + `(SELECT d.id FROM events e JOIN deliveries d ON d.event = e.id WHERE e.contact = {:contact} AND d.status != 'pending')`,
	} {
		if _, err := tx.DB().NewQuery(statement).Bind(dbx.Params{"contact": contactID}).Execute(); err != nil {
			return fmt.Errorf("redacting the deliveries of the contact %s: %w", contactID, err)
		}
	}
	return nil
}

// orphanedSQL lists the events about contacts that are gone of which a delivery to the webhook is pending.
const orphanedSQL = "SELECT e.[[id]] FROM {{deliveries}} d CROSS JOIN {{events}} e ON e.[[id]] = d.[[event]] " +
	"WHERE d.[[webhook]] = {:webhook} AND d.[[status]] = 'pending' AND e.[[contact]] != '' " +
	"AND NOT EXISTS (SELECT 1 FROM {{contacts}} c WHERE c.[[id]] = e.[[contact]])"

// DeleteDeliveries deletes the deliveries to a webhook that is being deleted, in the transaction of its deletion. The
// events stay; what they say of erased contacts is redacted, unless other webhooks are still to get it. It takes few
// statements: a cascade record by record takes minutes for a busy webhook.
func DeleteDeliveries(tx core.App, webhookID string) error {
	params := dbx.Params{"webhook": webhookID}
	var orphaned []string
	if err := tx.DB().NewQuery(orphanedSQL).Bind(params).Column(&orphaned); err != nil {
		return fmt.Errorf("looking for deliveries of the webhook %s that are to be erased: %w", webhookID, err)
	}
	encoded, err := list(orphaned)
	if err != nil {
		return err
	}
	for _, statement := range []string{
		"DELETE FROM {{delivery_attempts}} WHERE [[delivery]] IN (SELECT [[id]] FROM {{deliveries}} WHERE [[webhook]] = {:webhook})",
		"DELETE FROM {{deliveries}} WHERE [[webhook]] = {:webhook}",
	} {
		if _, err := tx.DB().NewQuery(statement).Bind(params).Execute(); err != nil {
			return fmt.Errorf("deleting the deliveries of the webhook %s: %w", webhookID, err)
		}
	}
	if _, err := tx.DB().NewQuery(redactEventsSQL + "id IN (SELECT value FROM json_each({:ids}))").Bind(dbx.Params{"ids": encoded}).Execute(); err != nil {
		return fmt.Errorf("redacting what was pending at the webhook %s: %w", webhookID, err)
	}
	return nil
}
