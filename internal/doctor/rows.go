package doctor

import (
	"database/sql"
	"fmt"
	"time"

	"contactbase/internal/sqlite"
	"contactbase/internal/stamp"
)

// clockSlack is how far two clocks may differ unnoticed.
const clockSlack = time.Minute

// clock looks for events in the future: the clock was ahead then, or is behind now.
func (x *examination) clock() error {
	newest, err := sqlite.Value[string](x.data, "SELECT coalesce(max(created), '') FROM events")
	if err != nil {
		return err
	}
	ahead := stamp.Parse(newest).Sub(x.now)
	if newest == "" || ahead < clockSlack {
		x.add("clock", OK, "no event is in the future", "")
		return nil
	}
	x.add("clock", Warning, fmt.Sprintf("the newest event is %s ahead of this machine's clock", ahead.Round(time.Second)),
		"synchronize the clock with NTP, for example with timedatectl set-ntp true")
	return nil
}

// A webhook is failing if a delivery that was attempted has been pending for this long.
const failingFor = time.Hour

// webhooks looks for webhooks that were disabled automatically, and for those that accept nothing.
func (x *examination) webhooks() error {
	const query = "SELECT w.id, w.url, w.disabled, w.disabledReason, " +
		"(SELECT coalesce(min(d.created), '') FROM deliveries d " +
		"WHERE d.webhook = w.id AND d.status = 'pending' AND d.attempts > 0) FROM webhooks w ORDER BY w.id"
	total, faults := 0, 0
	err := sqlite.Each(x.data, query, func(rows *sql.Rows) error {
		var id, url, reason, oldest string
		var disabled bool
		if err := rows.Scan(&id, &url, &disabled, &reason, &oldest); err != nil {
			return err
		}
		total++
		again := "contactbase webhook enable " + id + "; contactbase webhook recover " + id + " --since <when it began>"
		switch {
		case disabled && reason != "":
			faults++
			x.add("webhooks", Warning, fmt.Sprintf("%s (%s) was disabled: %s", id, url, reason),
				"check that it responds: contactbase webhook ping "+id+"; "+again)
		case oldest != "" && x.now.Sub(stamp.Parse(oldest)) > failingFor:
			faults++
			x.add("webhooks", Warning, fmt.Sprintf("%s (%s) has accepted none of its pending deliveries since %s",
				id, url, stamp.Show(oldest)), "check its response: contactbase webhook ping "+id)
		}
		return nil
	})
	if faults == 0 {
		found := "no webhooks yet"
		if total > 0 {
			found = fmt.Sprintf("webhooks: %d, none disabled by failures or failing for over an hour", total)
		}
		x.add("webhooks", OK, found, "")
	}
	return err
}

// fanOutTimeout is how long an event may lack deliveries while a server runs.
const fanOutTimeout = time.Minute

// fanOutLag looks for events without deliveries. Those of a tenant without webhooks need none.
func (x *examination) fanOutLag() error {
	const query = "SELECT count(*), coalesce(min(created), '') " +
		"FROM events WHERE tenant IN (SELECT tenant FROM webhooks) AND " +
		"rowid > coalesce((SELECT e.rowid FROM _fanOutCursor p JOIN events e ON e.id = p.event), 0)"
	var count int
	var oldest string
	err := sqlite.Each(x.data, query, func(rows *sql.Rows) error { return rows.Scan(&count, &oldest) })
	if err != nil {
		return err
	}
	if count == 0 || x.now.Sub(stamp.Parse(oldest)) < fanOutTimeout {
		x.add("deliveries", OK, "every event has its deliveries", "")
		return nil
	}
	x.add("deliveries", Warning, fmt.Sprintf("%d events since %s have no deliveries yet", count, stamp.Show(oldest)),
		"start the server, or find the cause in its log; do not serve a restored copy, which would send them, too")
	return nil
}

// moving looks for tenants that are closed for writes, which is easily forgotten.
func (x *examination) moving() error {
	const query = "SELECT count(*), coalesce(min(created), ''), coalesce(sum(state = 'arriving'), 0) FROM _moves"
	var count, arriving int
	var oldest string
	err := sqlite.Each(x.data, query, func(rows *sql.Rows) error { return rows.Scan(&count, &oldest, &arriving) })
	if err != nil {
		return err
	}
	switch {
	case count == 0:
		x.add("moves", OK, "no tenant is closed for writes", "")
	case arriving > 0:
		x.add("moves", Warning, fmt.Sprintf("tenants whose import is incomplete: %d", arriving),
			"continue with contactbase tenant import --resume, or delete them with contactbase tenant delete")
	default:
		x.add("moves", Warning, fmt.Sprintf("tenants closed for writes: %d, "+
			"the first since %s; contactbase tenant list shows them", count, stamp.Show(oldest)),
			"delete those that have moved: contactbase tenant delete; open those that stay: contactbase tenant unfreeze")
	}
	return nil
}
