package body

import (
	"net"
	"sync"
	"time"

	"contactbase/internal/disk"
	"contactbase/internal/fault"
	"contactbase/internal/visitor"
)

// Limits are the bounds of all bodies that are under way.
type Limits struct {
	Memory, Files int64 // received bytes that are kept in memory and in files
	Shares        int64 // one owner may have 1/Shares of them

	Silence time.Duration // without a byte, after which a body is given up
	Grace   time.Duration // of waiting for bytes, after which Rate counts
	Rate    int64         // bytes per second, on average
	Turn    time.Duration // how long a body that has arrived waits to be decoded

	MinFree uint64 // bytes that files leave free on the disk
}

// DefaultLimits are the limits of the program.
var DefaultLimits = Limits{
	Memory: 64 << 20, Files: 512 << 20, Shares: 4,
	Silence: 10 * time.Second, Grace: 30 * time.Second, Rate: 8 << 10, Turn: 10 * time.Second,
}

// spaceInterval is how many bytes are written to files until the space of the disk is read again.
const spaceInterval = 1 << 20

// reserve is the part of the memory, as a divisor, that is left to owners of small bodies: ordinary requests go on
// beside a flood of large ones.
const reserve = 64

// retryAfter is when a refused client should send its body again.
const retryAfter = 5 * time.Second

// Owner is who the bytes of a body count for.
type Owner struct{ kind, id string }

// Tenant is the owner of what a tenant's keys and members send, and superusers who act for it.
func Tenant(id string) Owner { return Owner{"tenant", id} }

// Senders is the owner of what the inbound webhooks of a tenant receive. A client that floods one
// of their addresses cannot stop the tenant's keys.
func Senders(tenant string) Owner { return Owner{"senders", tenant} }

// Superuser is the owner of what a superuser sends who acts for no tenant.
func Superuser(id string) Owner { return Owner{"superuser", id} }

// Address is the owner of what a client without a token sends.
func Address(ip string) Owner { return Owner{"address", visitor.Network(ip)} }

func addressOf(hostAndPort string) Owner {
	host, _, _ := net.SplitHostPort(hostAndPort)
	return Address(host)
}

// Ledger counts what has arrived of all bodies whose requests run.
type Ledger struct {
	limits   Limits
	decoding *turns // of bodies in memory, by their bytes
	files    *turns // of files that are read

	mu     sync.Mutex
	all    held
	owners map[Owner]held // without zeros
	unseen int64          // bytes written to files since the space of the disk was read
	calm   func()         // ends the hurry of the collector, nil if it is in none
}

// held is what bodies hold, in bytes.
type held struct{ memory, files int64 }

// NewLedger returns a ledger with these limits.
func NewLedger(limits Limits) *Ledger {
	return &Ledger{
		limits: limits,
		decoding: &turns{
			capacity: maxDecoded, each: maxDecoded,
			timeout: limits.Turn, refusal: rateLimited("Other large bodies are being read.", time.Second),
		},
		files: &turns{
			capacity: allFiles, each: ownFiles, keepsOne: true,
			timeout: limits.Turn, refusal: rateLimited("Other files are being read.", time.Second),
		},
		owners: map[Owner]held{},
	}
}

// patience returns how long to wait for the next byte of a body.
func (l *Ledger) patience(waited time.Duration, arrived int64) time.Duration {
	earned := time.Duration(float64(arrived) / float64(l.limits.Rate) * float64(time.Second))
	return min(l.limits.Silence, max(l.limits.Grace, earned)-waited)
}

// count counts bytes of a body. If they are more than it may have, it frees all of them, so that others of its owner go
// on.
func (l *Ledger) count(b *Body, bytes int64) *fault.Error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch b.keeps {
	case inMemory:
		l.add(b, held{memory: bytes})
	case inFile:
		l.add(b, held{files: bytes})
		l.unseen += bytes
	case nowhere:
		return nil
	}
	refused := l.check(l.owners[b.owner])
	if refused != nil {
		l.add(b, held{-b.counted.memory, -b.counted.files})
	}
	l.hurry()
	return refused
}

// check returns an error if an owner has more than it may have.
func (l *Ledger) check(own held) *fault.Error {
	large := l.limits.Memory
	if own.memory > smallBody {
		large -= l.limits.Memory / reserve
	}
	switch {
	case own.memory*l.limits.Shares > l.limits.Memory, own.files*l.limits.Shares > l.limits.Files:
		return rateLimited("You are sending too many large bodies at the same time.", retryAfter)
	case l.all.memory > large, l.all.files > l.limits.Files:
		return rateLimited("The server is receiving too many large bodies.", retryAfter)
	}
	return nil
}

// free ends the counting of a body.
func (l *Ledger) free(b *Body) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.add(b, held{-b.counted.memory, -b.counted.files})
	l.hurry()
}

// add adds bytes to what a body holds. The caller holds mu.
func (l *Ledger) add(b *Body, more held) {
	own := l.owners[b.owner].plus(more)
	if l.owners[b.owner] = own; own == (held{}) {
		delete(l.owners, b.owner)
	}
	b.counted, l.all = b.counted.plus(more), l.all.plus(more)
}

func (h held) plus(more held) held { return held{h.memory + more.memory, h.files + more.files} }

// hurry makes the collector hurry while large bodies are in memory. The caller holds mu.
func (l *Ledger) hurry() {
	if large := l.all.memory > l.limits.Memory/8; large && l.calm == nil {
		l.calm = hurryCollector(l.limits.Memory)
	} else if !large && l.calm != nil {
		l.calm()
		l.calm = nil
	}
}

// checkSpace returns an error if the file of a body would fill its disk. Most times, it only counts.
func (l *Ledger) checkSpace(b *Body) error {
	if b.keeps != inFile || l.limits.MinFree == 0 {
		return nil
	}
	l.mu.Lock()
	look := b.arrived == 0 || l.unseen >= spaceInterval
	if look {
		l.unseen = 0
	}
	l.mu.Unlock()
	if !look {
		return nil
	}
	space, err := disk.Of(b.folder)
	if err == nil && space.Free < l.limits.MinFree {
		err = rateLimited("The server has too little disk space to receive a file.", retryAfter)
	}
	return err
}
