package replica

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// State is the state of a machine; see the package comment.
type State string

// The states, in the order in which a standby goes through them.
const (
	Following  State = "following"   // another machine serves
	CatchingUp State = "catching up" // this machine replaces its databases by those of the store
	Starting   State = "starting"    // the first upload is not complete
	Active     State = "active"      // the store is kept up to date
	Fenced     State = "fenced"      // another machine serves, or may serve, and this one ends
)

// lagLimit is how far the store may be behind, in addition to the interval between uploads.
const lagLimit = time.Minute

// progress is what Status reports about the replica. Several goroutines change it.
type progress struct {
	mu          sync.Mutex
	state       State
	err         error        // what prevents replication, following or a takeover; nil if nothing does
	displaced   error        // set for good once another machine replicates to the same location, or this one is refused
	restoreTest *RestoreTest // the last one; nil before the first
}

// enter changes the state, and sets what prevents a better one.
func (p *progress) enter(state State, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.state, p.err = state, err
}

// setError sets what prevents progress, nil for nothing, and reports whether that is new.
func (p *progress) setError(err error) (first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	first = p.err == nil
	p.err = err
	if isRefusal(err) {
		p.displaced = err
	}
	return first
}

// uploaded notes a successful upload of data.db, and reports whether it is the first one after a failure.
func (p *progress) uploaded() (recovered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	recovered = p.err != nil && p.state == Active
	p.err = nil
	if p.state == Starting {
		p.state = Active
	}
	return recovered
}

// Obstacle returns what prevents a standby from following or from taking over, or nil if it only waits for
// another machine to fail.
func (r *Replica) Obstacle() error {
	r.progress.mu.Lock()
	defer r.progress.mu.Unlock()
	return r.progress.err
}

// Status is the status of a replica, as the API and the commands show it.
type Status struct {
	State           State        `json:"state"`
	Store           string       `json:"store"`
	Mode            Mode         `json:"mode"`
	Generation      int64        `json:"generation"`
	Holder          string       `json:"holder"`          // the machine that serves
	LagSeconds      float64      `json:"lagSeconds"`      // age of the oldest commit that the store lacks
	LagBytes        int64        `json:"lagBytes"`        // size of the files that are not uploaded yet
	LagTransactions uint64       `json:"lagTransactions"` // number of commits that the store lacks
	Error           *string      `json:"error"`           // what prevents replication; nil if nothing does
	RestoreTest     *RestoreTest `json:"drill"`           // the last one; nil before the first
	Faults          []string     `json:"faults"`          // what an operator should act on
}

// Status returns the status of the replica of this process.
func (r *Replica) Status() Status {
	p := &r.progress
	p.mu.Lock()
	s := Status{
		State: p.state, Store: r.config.URL, Mode: r.config.Mode, Generation: r.written.generation.Load(), Holder: r.host,
		RestoreTest: p.restoreTest, Faults: []string{},
	}
	err, displaced := p.err, p.displaced
	p.mu.Unlock()
	if r.Holds() != nil {
		s.State = Fenced
	}
	if err != nil {
		text := err.Error()
		s.Error = &text
	}
	s.LagSeconds, s.LagTransactions, s.LagBytes = r.replication.lag()
	s.addFaults(r.config.Interval)
	if displaced != nil {
		s.Faults = append(s.Faults, displaced.Error())
	}
	return s
}

// addFaults adds what an operator should act on.
func (s *Status) addFaults(interval time.Duration) {
	lag := time.Duration(s.LagSeconds * float64(time.Second))
	if lag > lagLimit+interval {
		why := ""
		if s.Error != nil {
			why = ": " + *s.Error
		}
		s.Faults = append(s.Faults, fmt.Sprintf("the store is %s behind%s", lag.Round(time.Second), why))
	}
	if s.State == Fenced {
		s.Faults = append(s.Faults, ErrFenced.Error())
	}
	if s.RestoreTest != nil && s.RestoreTest.Error != "" {
		s.Faults = append(s.Faults, "the last restore test failed: "+s.RestoreTest.Error)
	}
}

// Err returns the faults of the replica as an error, or nil if it has none.
func (s Status) Err() error {
	if len(s.Faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(s.Faults, "; "))
}
