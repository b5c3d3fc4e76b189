package store

import (
	"cmp"
	"slices"

	"contactbase/internal/delivery"
)

// fairQueue remembers when tenants and endpoints were last served, so that the next claim begins with those that waited
// longest. Whoever had nothing due is forgotten and comes first.
type fairQueue struct {
	clock     uint64
	tenants   map[string]uint64
	endpoints map[string]uint64
}

// tenantQueue is the endpoints of a tenant that still have free slots, those first that waited longest.
type tenantQueue struct {
	tenant    string
	room      int // how much the tenant may take
	endpoints []string
}

// grant divides the claim's limit: in rounds over the tenants, each round one slot for the endpoint of each tenant
// that waited longest. A tenant with many endpoints gets no more than one with few while both have something due.
func (q *fairQueue) grant(due []ready, options delivery.ClaimOptions) map[string]int {
	free, byTenant := freeSlots(options, due)
	waiting := q.sort(byTenant)
	granted := make(map[string]int, len(free))
	for left := options.Limit; left > 0 && len(waiting) > 0; {
		next := waiting[:0]
		for _, t := range waiting {
			if left == 0 {
				break
			}
			left--
			t.room--
			q.clock++
			webhook := t.endpoints[0]
			q.tenants[t.tenant], q.endpoints[webhook] = q.clock, q.clock
			granted[webhook]++
			t.endpoints = t.endpoints[1:]
			if granted[webhook] < free[webhook] {
				t.endpoints = append(t.endpoints, webhook)
			}
			if len(t.endpoints) > 0 && t.room > 0 {
				next = append(next, t)
			}
		}
		waiting = next
	}
	return granted
}

// freeSlots returns how many slots each endpoint has free, and those endpoints by their tenants.
func freeSlots(options delivery.ClaimOptions, due []ready) (slots map[string]int, byTenant map[string]*tenantQueue) {
	slots, byTenant = make(map[string]int, len(due)), map[string]*tenantQueue{}
	for _, r := range due {
		n := options.PerEndpoint
		if named, ok := options.Slots[r.webhook]; ok {
			n = named.Free
			if n <= 0 && named.Urgent && r.urgent() {
				n = 1
			}
		}
		room := roomOf(options, r.tenant)
		if n <= 0 || room <= 0 {
			continue
		}
		slots[r.webhook] = n
		if byTenant[r.tenant] == nil {
			byTenant[r.tenant] = &tenantQueue{tenant: r.tenant, room: room}
		}
		byTenant[r.tenant].endpoints = append(byTenant[r.tenant].endpoints, r.webhook)
	}
	return slots, byTenant
}

// roomOf returns how much of a tenant may be claimed.
func roomOf(options delivery.ClaimOptions, tenant string) int {
	if room, named := options.Tenants[tenant]; named {
		return room
	}
	if options.PerTenant > 0 {
		return options.PerTenant
	}
	return options.Limit
}

// sort puts tenants and their endpoints in the order in which they waited, and forgets those that are not there.
func (q *fairQueue) sort(byTenant map[string]*tenantQueue) []*tenantQueue {
	tenants, endpoints := map[string]uint64{}, map[string]uint64{}
	queues := make([]*tenantQueue, 0, len(byTenant))
	for tenant, t := range byTenant {
		tenants[tenant] = q.tenants[tenant]
		for _, webhook := range t.endpoints {
			endpoints[webhook] = q.endpoints[webhook]
		}
		slices.SortFunc(t.endpoints, func(a, b string) int {
			return cmp.Or(cmp.Compare(endpoints[a], endpoints[b]), cmp.Compare(a, b))
		})
		queues = append(queues, t)
	}
	slices.SortFunc(queues, func(a, b *tenantQueue) int {
		return cmp.Or(cmp.Compare(tenants[a.tenant], tenants[b.tenant]), cmp.Compare(a.tenant, b.tenant))
	})
	q.tenants, q.endpoints = tenants, endpoints
	return queues
}
