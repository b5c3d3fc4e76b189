package overview

import (
	"encoding/base64"

	"contactbase/internal/delivery"
	"contactbase/internal/stamp"
)

// minGroup is how many consecutive similar deliveries are shown as one line.
const minGroup = 3

// group appends rows to groups. Unless grouped is set, each row is a group of its own.
func group(groups [][]Delivery, rows []Delivery, grouped bool) [][]Delivery {
	for _, row := range rows {
		last := len(groups) - 1
		if grouped && last >= 0 && groups[last][0].isSimilar(&row) {
			groups[last] = append(groups[last], row)
		} else {
			groups = append(groups, []Delivery{row})
		}
	}
	return groups
}

// isSimilar reports whether neither is delivered and both have the same status and the same last result.
func (d *Delivery) isSimilar(other *Delivery) bool {
	return d.Status != delivery.StatusDelivered &&
		d.Status == other.Status && (d.Attempts == 0) == (other.Attempts == 0) &&
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
	if len(of) < minGroup {
		for i := range of {
			of[i].toWire(1, of[i].Created)
		}
		return of
	}
	of[0].toWire(len(of), of[len(of)-1].Created)
	return of[:1]
}

// toWire converts the stored times to those of the API.
func (d *Delivery) toWire(count int, since string) {
	d.Count, d.Since, d.Cursor = count, stamp.Show(since), d.position()
	d.Created, d.Updated = stamp.Show(d.Created), stamp.Show(d.Updated)
	if d.NextAttempt != nil {
		d.NextAttempt = shown(*d.NextAttempt)
	}
}

// position returns the cursor of the deliveries after one that has its stored values.
func (d *Delivery) position() string {
	return base64.RawURLEncoding.EncodeToString([]byte(d.Created + "|" + d.ID))
}
