package delivery

import (
	"cmp"
	"slices"
)

// fairQueue remembers when tenants and endpoints were last served, so that those that have waited longest come first.
// Those with nothing due are forgotten, and come first next time.
type fairQueue struct {
	clock     uint64
	tenants   map[string]uint64
	endpoints map[string]uint64
}

// contender is an endpoint that has something to send.
type contender struct {
	webhook, tenant string
	slots           int // how many the endpoint may claim
}

// tenantQueue is the endpoints of a tenant that still have free slots, longest waiting first.
type tenantQueue struct {
	tenant    string
	capacity  int // how many the tenant may claim
	endpoints []string
}

// grant divides limit in rounds over the tenants; each round gives one slot to the endpoint of each tenant that has
// waited longest. So a tenant with many endpoints gets no more than a tenant with few. capacity returns how many a
// tenant may claim.
func (q *fairQueue) grant(all []contender, limit int, capacity func(tenant string) int) map[string]int {
	slots, byTenant := byTenants(all, capacity)
	waiting := q.sort(byTenant)
	granted := make(map[string]int, len(slots))
	for left := limit; left > 0 && len(waiting) > 0; {
		next := waiting[:0]
		for _, t := range waiting {
			if left == 0 {
				break
			}
			left--
			t.capacity--
			q.clock++
			webhook := t.endpoints[0]
			q.tenants[t.tenant], q.endpoints[webhook] = q.clock, q.clock
			granted[webhook]++
			t.endpoints = t.endpoints[1:]
			if granted[webhook] < slots[webhook] {
				t.endpoints = append(t.endpoints, webhook)
			}
			if len(t.endpoints) > 0 && t.capacity > 0 {
				next = append(next, t)
			}
		}
		waiting = next
	}
	return granted
}

// byTenants returns the slots of the endpoints, and the endpoints with free slots by tenant.
func byTenants(
	all []contender, capacity func(tenant string) int,
) (slots map[string]int, byTenant map[string]*tenantQueue) {
	slots, byTenant = make(map[string]int, len(all)), map[string]*tenantQueue{}
	for _, c := range all {
		if c.slots <= 0 || capacity(c.tenant) <= 0 {
			continue
		}
		slots[c.webhook] = c.slots
		if byTenant[c.tenant] == nil {
			byTenant[c.tenant] = &tenantQueue{tenant: c.tenant, capacity: capacity(c.tenant)}
		}
		byTenant[c.tenant].endpoints = append(byTenant[c.tenant].endpoints, c.webhook)
	}
	return slots, byTenant
}

// sort orders tenants and their endpoints by how long they have waited, and forgets all others.
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
