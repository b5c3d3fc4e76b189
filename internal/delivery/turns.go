package delivery

import (
	"cmp"
	"slices"
)

// turns remembers when tenants and endpoints were last served, so that the next claim begins with those that waited
// longest. Whoever had nothing due is forgotten and comes first.
type turns struct {
	clock     uint64
	tenants   map[string]uint64
	endpoints map[string]uint64
}

// ready is an endpoint that may be sent to and has a due delivery.
type ready struct {
	webhook string
	tenant  string
	urgent  bool // somebody asked for the first one just now
}

// line is the endpoints of a tenant that still have free slots, in the order of their turns.
type line struct {
	tenant    string
	room      int // how much the tenant may take
	endpoints []string
}

// grant divides the claim's limit: in rounds over the tenants, each round one slot for the endpoint of the tenant whose
// turn it is. A tenant with many endpoints gets no more than one with few while both have something due.
func (t *turns) grant(due []ready, options ClaimOptions) map[string]int {
	free := make(map[string]int, len(due))
	byTenant := map[string]*line{}
	for _, r := range due {
		n := options.PerEndpoint
		if slots, named := options.Slots[r.webhook]; named {
			n = slots.Free
			if n <= 0 && slots.Urgent && r.urgent {
				n = 1
			}
		}
		room := options.roomOf(r.tenant)
		if n <= 0 || room <= 0 {
			continue
		}
		free[r.webhook] = n
		if byTenant[r.tenant] == nil {
			byTenant[r.tenant] = &line{tenant: r.tenant, room: room}
		}
		byTenant[r.tenant].endpoints = append(byTenant[r.tenant].endpoints, r.webhook)
	}
	lines := t.sort(byTenant)
	granted := make(map[string]int, len(free))
	for left := options.Limit; left > 0 && len(lines) > 0; {
		served := lines[:0]
		for _, l := range lines {
			if left == 0 {
				break
			}
			left--
			l.room--
			t.clock++
			webhook := l.endpoints[0]
			t.tenants[l.tenant], t.endpoints[webhook] = t.clock, t.clock
			granted[webhook]++
			l.endpoints = l.endpoints[1:]
			if granted[webhook] < free[webhook] {
				l.endpoints = append(l.endpoints, webhook)
			}
			if len(l.endpoints) > 0 && l.room > 0 {
				served = append(served, l)
			}
		}
		lines = served
	}
	return granted
}

// roomOf returns how much of a tenant may be claimed.
func (o ClaimOptions) roomOf(tenant string) int {
	if room, named := o.Tenants[tenant]; named {
		return room
	}
	if o.PerTenant > 0 {
		return o.PerTenant
	}
	return o.Limit
}

// sort puts tenants and their endpoints in the order of their turns, and forgets those that are not there.
func (t *turns) sort(byTenant map[string]*line) []*line {
	tenants, endpoints := map[string]uint64{}, map[string]uint64{}
	lines := make([]*line, 0, len(byTenant))
	for tenant, l := range byTenant {
		tenants[tenant] = t.tenants[tenant]
		for _, webhook := range l.endpoints {
			endpoints[webhook] = t.endpoints[webhook]
		}
		slices.SortFunc(l.endpoints, func(a, b string) int {
			return cmp.Or(cmp.Compare(endpoints[a], endpoints[b]), cmp.Compare(a, b))
		})
		lines = append(lines, l)
	}
	slices.SortFunc(lines, func(a, b *line) int {
		return cmp.Or(cmp.Compare(tenants[a.tenant], tenants[b.tenant]), cmp.Compare(a.tenant, b.tenant))
	})
	t.tenants, t.endpoints = tenants, endpoints
	return lines
}
