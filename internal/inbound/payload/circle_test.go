package payload

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"contactbase/internal/event"
)

// ring is a circle of installations, each of which feeds the next. It replaces databases, outboxes and deliveries, so that every
// order of events can be tried. It tests what Decode, Keys and Against do with the events.
type ring struct {
	t         *testing.T
	installs  []*install
	now       time.Time
	delivered int
}

type install struct {
	ring     *ring
	name     string
	contacts []*person // oldest first
	made     int
	events   int
	seen     map[string]bool // origins emitted or applied; nil = not checked
	outbox   [][]byte
	skew     time.Duration
}

type person struct {
	id      string
	values  map[string]string
	updated time.Time
}

func newRing(t *testing.T, size int, origins bool) *ring {
	r := &ring{t: t, now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	for i := range size {
		in := &install{ring: r, name: string(rune('a' + i))}
		if origins {
			in.seen = map[string]bool{}
		}
		r.installs = append(r.installs, in)
	}
	return r
}

// deliver passes an installation's oldest event to the next one.
func (r *ring) deliver(from int) {
	in := r.installs[from]
	body := in.outbox[0]
	in.outbox = in.outbox[1:]
	r.delivered++
	r.installs[(from+1)%len(r.installs)].receive(body)
}

// settle delivers all events. A circle that does not come to rest is a failure.
func (r *ring) settle() {
	r.t.Helper()
	for range 1000 {
		i := slices.IndexFunc(r.installs, func(in *install) bool { return len(in.outbox) > 0 })
		if i < 0 {
			return
		}
		r.deliver(i)
	}
	r.t.Fatalf("no rest after 1000 deliveries:\n%s", r)
}

func (r *ring) String() string {
	var b strings.Builder
	for _, in := range r.installs {
		for _, p := range in.contacts {
			fmt.Fprintf(&b, "%s: %s %v\n", in.name, p.id, p.values)
		}
	}
	return b.String()
}

func (in *install) clock() time.Time {
	in.ring.now = in.ring.now.Add(time.Millisecond)
	return in.ring.now.Add(in.skew)
}

func (in *install) find(match func(*person) bool) *person {
	if i := slices.IndexFunc(in.contacts, match); i >= 0 {
		return in.contacts[i]
	}
	return nil
}

func (in *install) create(values map[string]string, origin string) *person {
	in.made++
	p := &person{id: fmt.Sprintf("%s%d", in.name, in.made), values: map[string]string{}, updated: in.clock()}
	maps.Copy(p.values, values)
	in.contacts = append(in.contacts, p)
	in.emit(event.ContactCreated, p, nil, origin)
	return p
}

// change writes values ("" clears) and emits an event if anything changes.
func (in *install) change(p *person, values map[string]string, origin string) {
	previous := map[string]any{}
	for name, v := range values {
		if p.values[name] != v {
			previous[name] = nullable(p.values[name])
		}
	}
	if len(previous) == 0 {
		return
	}
	maps.Copy(p.values, values)
	p.updated = in.clock()
	in.emit(event.ContactUpdated, p, previous, origin)
}

func (in *install) remove(p *person, origin string) {
	in.contacts = slices.DeleteFunc(in.contacts, func(o *person) bool { return o == p })
	in.emit(event.ContactDeleted, p, nil, origin)
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (in *install) emit(kind event.Kind, p *person, previous map[string]any, origin string) {
	in.events++
	data := map[string]any{"id": p.id, "updatedAt": p.updated.Format(time.RFC3339Nano)}
	for _, name := range []string{"name", "email", "phone", "company", "externalId"} {
		data[name] = nullable(p.values[name])
	}
	body := map[string]any{
		"id": fmt.Sprintf("evt_%s%d", in.name, in.events), "type": kind, "timestamp": p.updated.Format(time.RFC3339Nano), "data": data,
	}
	if previous != nil {
		body["previous"] = previous
	}
	if in.seen != nil {
		if origin != "" {
			body["id"] = origin
		}
		in.seen[body["id"].(string)] = true
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		in.ring.t.Fatal(err)
	}
	in.outbox = append(in.outbox, encoded)
}

// receive applies an event like the package inbound.
func (in *install) receive(body []byte) {
	payload, err := Decode(asJSON, body, nil)
	if err != nil {
		in.ring.t.Fatal(err)
	}
	item := payload.Items[0]
	if in.seen != nil {
		if in.seen[item.Chain.EventID] {
			return
		}
		in.seen[item.Chain.EventID] = true
	}
	var found *person
	var key Key
	for _, key = range item.Keys() {
		found = in.find(func(p *person) bool {
			return (key.Field == "id" && p.id == key.Value || p.values[key.Field] == key.Value) &&
				key.Fits(Local{Values: p.values})
		})
		if found != nil {
			break
		}
	}
	switch {
	case item.Action == Delete && found != nil:
		in.remove(found, item.Chain.EventID)
	case item.Action == Delete:
	case found == nil:
		in.create(texts(item.Fields), item.Chain.EventID)
	default:
		fields := texts(item.Against(key, Local{Values: found.values, Updated: found.updated}).Fields)
		taken := in.find(func(p *person) bool {
			return p != found && fields["externalId"] != "" && p.values["externalId"] == fields["externalId"]
		})
		if taken == nil { // the externalId is unique
			in.change(found, fields, item.Chain.EventID)
		}
	}
}

func texts(fields map[string]any) map[string]string {
	out := map[string]string{}
	for name, v := range fields {
		out[name], _ = v.(string)
	}
	return out
}

// sameEverywhere checks that all installations have the same people, except for ids and externalIds.
func (r *ring) sameEverywhere() {
	r.t.Helper()
	var first []string
	for i, in := range r.installs {
		var people []string
		for _, p := range in.contacts {
			people = append(people, fmt.Sprint(p.values["name"], p.values["email"], p.values["phone"], p.values["company"]))
		}
		slices.Sort(people)
		if i == 0 {
			first = people
		} else if !slices.Equal(people, first) {
			r.t.Fatalf("not the same everywhere:\n%s", r)
		}
	}
}

// TestCircleRests makes each change after the previous one has passed the whole circle.
func TestCircleRests(t *testing.T) {
	t.Parallel()
	for size := 1; size <= 4; size++ {
		for _, origins := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d installations, origins %v", size, origins), func(t *testing.T) {
				t.Parallel()
				r := newRing(t, size, origins)
				first, last := r.installs[0], r.installs[size-1]
				step := func(people int, act func()) {
					t.Helper()
					act()
					r.settle()
					r.sameEverywhere()
					if len(first.contacts) != people {
						t.Fatalf("want %d people:\n%s", people, r)
					}
				}
				var ada, bea *person
				step(1, func() { ada = first.create(map[string]string{"name": "Ada", "email": "a@example.com"}, "") })
				if ada.values["externalId"] != "" {
					t.Errorf("the circle gave the first one an externalId:\n%s", r)
				}
				step(1, func() { first.change(ada, map[string]string{"name": "Ada King", "phone": "+1"}, "") })
				step(1, func() { last.change(last.contacts[0], map[string]string{"phone": "", "company": "AE"}, "") })
				step(1, func() { first.change(ada, map[string]string{"email": "ada@example.com"}, "") })
				step(1, func() { first.change(ada, map[string]string{"externalId": "crm-7"}, "") })
				step(1, func() { last.change(last.contacts[0], map[string]string{"name": "Countess"}, "") })
				step(1, func() { first.change(ada, map[string]string{"externalId": ""}, "") })
				step(1, func() { first.change(ada, map[string]string{"name": "Ada"}, "") })
				// more people with the same address, and one without any
				step(2, func() {
					bea = last.create(map[string]string{"name": "Bea", "email": "ada@example.com", "externalId": "crm-8"}, "")
				})
				step(2, func() { last.change(bea, map[string]string{"name": "Bea B"}, "") })
				step(3, func() { first.create(map[string]string{"name": "Cid", "email": "ada@example.com"}, "") })
				step(4, func() { last.create(map[string]string{"name": "Dan", "email": "ada@example.com"}, "") })
				step(5, func() { last.create(map[string]string{"name": "Eve"}, "") })
				step(4, func() { first.remove(ada, "") })
				step(3, func() { last.remove(bea, "") })
			})
		}
	}
}

// Both sides know the person before they are connected: they are linked by email, once.
func TestCircleLinksByEmail(t *testing.T) {
	t.Parallel()
	for _, origins := range []bool{false, true} {
		r := newRing(t, 2, origins)
		a := r.installs[0].create(map[string]string{"name": "Ada", "email": "a@example.com", "phone": "+1"}, "")
		b := r.installs[1].create(map[string]string{"name": "ada", "email": "a@example.com", "company": "AE"}, "")
		r.settle()
		if len(r.installs[0].contacts) != 1 || len(r.installs[1].contacts) != 1 || a.values["company"] != "AE" || b.values["phone"] != "+1" {
			t.Fatalf("origins %v:\n%s", origins, r)
		}
		r.installs[0].change(a, map[string]string{"email": "ada@example.com"}, "")
		r.settle()
		if b.values["email"] != "ada@example.com" {
			t.Fatalf("origins %v:\n%s", origins, r)
		}
	}
}

// A copy of an installation, restored from a backup, has the same ids.
func TestCircleOfCopies(t *testing.T) {
	t.Parallel()
	r := newRing(t, 2, true)
	a := r.installs[0].create(map[string]string{"name": "Ada", "email": "a@example.com", "externalId": "crm-7"}, "")
	r.installs[0].outbox = nil
	b := &person{id: a.id, values: maps.Clone(a.values), updated: a.updated}
	r.installs[1].contacts = []*person{b}
	r.installs[0].change(a, map[string]string{"externalId": "", "name": "Ada King"}, "")
	r.settle()
	if len(r.installs[1].contacts) != 1 || b.values["externalId"] != "" || b.values["name"] != "Ada King" {
		t.Fatalf("\n%s", r)
	}
}

// TestCircleRestsUnderLoad edits everywhere at once, with different clocks, and with deliveries reordered between the installations
// and repeated. The circle always comes to rest. Two installations with equal clocks that edit one field, never twice to the same
// value, also end up equal.
func TestCircleRestsUnderLoad(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		size, calm := 2+rnd.IntN(3), seed%2 == 0
		r := newRing(t, size, true)
		if calm {
			size = 2
			r = newRing(t, size, true)
		} else {
			for _, in := range r.installs {
				in.skew = time.Duration(rnd.IntN(7)-3) * time.Second
			}
		}
		first := r.installs[0]
		first.create(map[string]string{"name": "Ada", "email": "a@example.com"}, "")
		first.create(map[string]string{"name": "Bea", "email": "a@example.com", "externalId": "crm-1"}, "")
		r.settle()
		for i := range 40 {
			in := r.installs[rnd.IntN(size)]
			switch n := rnd.IntN(10); {
			case n < 5 && len(in.contacts) > 0:
				p := in.contacts[rnd.IntN(len(in.contacts))]
				field, value := []string{"name", "phone", "company"}[rnd.IntN(3)], fmt.Sprint(rnd.IntN(4))
				if calm {
					field, value = "name", fmt.Sprint("name ", i)
				}
				in.change(p, map[string]string{field: value}, "")
			case n == 5 && !calm && len(in.contacts) > 0:
				p := in.contacts[rnd.IntN(len(in.contacts))]
				in.change(p, map[string]string{"externalId": []string{"", "crm-1", "crm-2"}[rnd.IntN(3)]}, "")
			case n == 6 && !calm && len(in.contacts) > 1:
				in.remove(in.contacts[0], "")
			case n == 7 && !calm:
				in.create(map[string]string{"name": "New", "email": "a@example.com"}, "")
			default:
				from := rnd.IntN(size)
				if sender := r.installs[from]; len(sender.outbox) > 0 {
					if rnd.IntN(4) == 0 { // at least once
						sender.outbox = slices.Insert(sender.outbox, 1, sender.outbox[0])
					}
					r.deliver(from)
				}
			}
		}
		r.settle()
		if calm {
			r.sameEverywhere()
		}
	}
}
