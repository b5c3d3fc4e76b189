package replica

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/superfly/ltx"
)

// State is what a machine does with its replica.
type State string

// The states, in the order in which a standby comes to serve.
const (
	Following  State = "following"   // another machine serves
	CatchingUp State = "catching up" // it has failed, and what is in the store is put in the place of the databases
	Starting   State = "starting"    // the store does not have everything yet
	Active     State = "active"      // the store is kept up to date
	Fenced     State = "fenced"      // another machine serves, or may, and this one ends
)

// lagBound is how far the store may be behind, beside what is usual.
const lagBound = time.Minute

// Status tells how a replica is.
type Status struct {
	State           State        `json:"state"`
	Store           string       `json:"store"`
	Mode            Mode         `json:"mode"`
	Generation      int64        `json:"generation"`
	Holder          string       `json:"holder"`          // the machine that serves
	LagSeconds      float64      `json:"lagSeconds"`      // since when something is not in the store
	LagBytes        int64        `json:"lagBytes"`        // of files that are to be sent
	LagTransactions uint64       `json:"lagTransactions"` // commits that are not in the store
	Error           *string      `json:"error"`           // what keeps it from being kept up to date, nil for nothing
	RestoreTest     *RestoreTest `json:"drill"`           // the last one, nil before it
	Faults          []string     `json:"faults"`          // what somebody should do something about
}

// Status tells how the replica is.
func (r *Replica) Status() Status {
	r.mu.Lock()
	s := Status{State: r.state, Store: r.config.URL, Mode: r.config.Mode, Generation: r.generation, Holder: r.host, RestoreTest: r.restoreTest, Faults: []string{}}
	last, displaced := r.last, r.displaced
	r.mu.Unlock()
	if r.mayCommit() != nil {
		s.State = Fenced
	}
	select {
	case <-r.runner.ready:
		data := r.runner.uploaders[0]
		lag, transactions := data.lag()
		s.LagSeconds, s.LagTransactions, s.LagBytes = lag.Seconds(), transactions, data.unsent()
	default:
		if !r.runner.began.IsZero() {
			s.LagSeconds = time.Since(r.runner.began).Seconds()
		}
	}
	if last != nil {
		text := last.Error()
		s.Error = &text
	}
	s.judge(r.config)
	if displaced != nil {
		s.Faults = append(s.Faults, displaced.Error())
	}
	return s
}

// judge adds what somebody should do something about.
func (s *Status) judge(config Config) {
	lag := time.Duration(s.LagSeconds * float64(time.Second))
	if lag > lagBound+config.Interval {
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

// Within returns nil where the replica is as far behind as it may be, and its last restore test succeeded; otherwise why not.
func (s Status) Within() error {
	if len(s.Faults) == 0 {
		return nil
	}
	return errors.New(strings.Join(s.Faults, "; "))
}

// lag returns since when the oldest commit is not in the store, and how many are not.
func (u *uploader) lag() (time.Duration, uint64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	transactions := u.commits() - u.shipped
	if u.since.IsZero() {
		return 0, transactions
	}
	return time.Since(u.since), transactions
}

// unsent returns the size of the files that are to be sent.
func (u *uploader) unsent() (size int64) {
	sent := u.db.Replica.Pos().TXID
	entries, err := os.ReadDir(u.db.LTXLevelDir(0))
	if err != nil {
		return 0 // none was made yet
	}
	for _, entry := range entries {
		_, last, err := ltx.ParseFilename(entry.Name())
		if err != nil || last <= sent {
			continue
		}
		if info, err := entry.Info(); err == nil {
			size += info.Size()
		}
	}
	return size
}
