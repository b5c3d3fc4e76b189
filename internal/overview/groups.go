package overview

import (
	"encoding/base64"

	"contactbase/internal/delivery"
	"contactbase/internal/stamp"
)

// leastGroup is how many equal deliveries in a row are one line.
const leastGroup = 3

// group adds rows to the groups before them. Where nothing is grouped each is alone.
func group(groups [][]Delivery, rows []Delivery, grouped bool) [][]Delivery {
	for _, row := range rows {
		last := len(groups) - 1
		if grouped && last >= 0 && groups[last][0].like(&row) {
			groups[last] = append(groups[last], row)
		} else {
			groups = append(groups, []Delivery{row})
		}
	}
	return groups
}

// like reports whether the same can be said of both: neither is delivered, and they got the same answer, or none yet.
func (d *Delivery) like(other *Delivery) bool {
	return d.Status != delivery.StatusDelivered && d.Status == other.Status && (d.Attempts == 0) == (other.Attempts == 0) &&
		same(d.LastStatus, other.LastStatus) && same(d.LastError, other.LastError)
}

func same[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

// lines returns the lines that show a group.
func lines(of []Delivery) []Delivery {
	if len(of) < leastGroup {
		for i := range of {
			of[i].toWire(1, of[i].Created)
		}
		return of
	}
	of[0].toWire(len(of), of[len(of)-1].Created)
	return of[:1]
}

// toWire turns what the table holds into what the API writes: no empty values, times of RFC 3339.
func (d *Delivery) toWire(count int, since string) {
	d.Count, d.Since, d.Cursor = count, stamp.Show(since), d.position()
	d.Created, d.Updated = stamp.Show(d.Created), stamp.Show(d.Updated)
	if d.NextAttempt != nil {
		d.NextAttempt = shown(*d.NextAttempt)
	}
	if d.LastStatus != nil && *d.LastStatus == 0 {
		d.LastStatus = nil
	}
	if d.LastError != nil && *d.LastError == "" {
		d.LastError = nil
	}
}

// position returns the cursor of the deliveries that follow one, as the table holds it.
func (d *Delivery) position() string {
	return base64.RawURLEncoding.EncodeToString([]byte(d.Created + "|" + d.ID))
}
