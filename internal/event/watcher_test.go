package event_test

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"contactbase/internal/event"
	"contactbase/internal/testkit"
)

// Subscriptions are signaled for events of their own tenant only, whichever process writes them.
func TestWatcher(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	w := event.NewWatcher(app)
	acme, other := newFeed(t, app, "Acme"), newFeed(t, app, "Other")
	acme.emit(event.ContactCreated, "c")
	toAcme, toOther := subscribe(t, w, acme.tenant), subscribe(t, w, other.tenant)
	changed, ended := run(w)
	w.Wake()
	<-toAcme.C // the first look does not know what is new
	<-toOther.C

	other.emit(event.ContactCreated, "c")
	changed <- false // as where another process has written: nothing wakes
	<-toOther.C
	changed <- false
	acme.emit(event.ContactCreated, "c")
	w.Wake()
	<-toAcme.C
	select {
	case <-toOther.C:
		t.Error("the subscription of another tenant is signaled")
	default:
	}

	changed <- true
	<-toAcme.C
	<-toOther.C
	toOther.Close()
	toOther.Close()
	acme.remove(0, 1) // now it is unknown what is new
	w.Wake()
	<-toAcme.C
	w.End()
	w.End()
	<-ended
	<-w.Ended()
}

// Subscriptions are signaled when an event becomes visible, not when it is written.
func TestWatcherOfVisibleEvents(t *testing.T) {
	t.Parallel()
	app := testkit.NewApp(t)
	f := newFeed(t, app, "Acme")
	var visible atomic.Pointer[string]
	show := func(n int) {
		id := strings.TrimPrefix(f.events[n].place, event.IDPrefix)
		visible.Store(&id)
	}
	f.emit(event.ContactCreated, "c")
	show(0)
	w := event.NewWatcher(app)
	w.EndAt(visible.Load)
	s := subscribe(t, w, f.tenant)
	changed, ended := run(w)
	w.Wake()
	<-s.C
	f.emit(event.ContactCreated, "c")
	w.Wake()
	for range 3 { // the watcher has looked, and has given its signals
		changed <- false
	}
	select {
	case <-s.C:
		t.Error("the subscription is signaled for an event that is not visible")
	default:
	}
	show(1)
	w.Wake()
	<-s.C
	w.End()
	<-ended
}

// run runs the watcher until its end. What is sent to changed is the result of its next call, which otherwise is false.
func run(w *event.Watcher) (changed chan<- bool, ended <-chan struct{}) {
	results, done := make(chan bool), make(chan struct{})
	go func() {
		defer close(done)
		w.Run(func() bool {
			select {
			case result := <-results:
				return result
			default:
				return false
			}
		})
	}()
	return results, done
}

func subscribe(t *testing.T, w *event.Watcher, tenant string) *event.Subscription {
	t.Helper()
	s, err := w.Subscribe(tenant)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The number of subscriptions is limited per tenant and in total.
func TestSubscriptionsAreLimited(t *testing.T) {
	t.Parallel()
	w := event.NewWatcher(testkit.NewApp(t))
	var first *event.Subscription
	for i := range 10_000 {
		if s := subscribe(t, w, "a"); i == 0 {
			first = s
		}
	}
	if _, err := w.Subscribe("a"); !errors.Is(err, event.ErrTooManyReaders) {
		t.Errorf("one more of the same tenant: %v", err)
	}
	first.Close()
	subscribe(t, w, "a")
	for range 10_000 {
		subscribe(t, w, "b")
	}
	if _, err := w.Subscribe("c"); !errors.Is(err, event.ErrTooManyReaders) {
		t.Errorf("one more in total: %v", err)
	}
}

// The readers of a tenant that has many are signaled a few at a time, those of others at once.
func TestManySubscriptionsAreSignaledInTurn(t *testing.T) {
	t.Parallel()
	w := event.NewWatcher(testkit.NewApp(t))
	many, one := make([]*event.Subscription, 150), subscribe(t, w, "b")
	for i := range many {
		many[i] = subscribe(t, w, "a")
	}
	signaled := func() (n int) {
		for _, s := range many {
			n += len(s.C)
		}
		return n
	}
	w.MakeDue(nil)
	w.MakeDue(nil) // they are signaled once
	taken := 0
	for _, want := range []int{64, 68, 132, 150} { // of which 64 run at a time, unless some do not take their signals
		w.MakeDue([]string{"nobody"})
		if left := w.SignalDue(); left != (want < len(many)) || taken+signaled() != want || len(one.C) != 1 {
			t.Errorf("%d and %d are signaled, more is %t, want %d and 1", taken+signaled(), len(one.C), left, want)
		}
		for _, s := range many {
			if want > 64 && len(s.C) > 0 {
				<-s.C
				taken++
			}
		}
	}
	w.MakeDue([]string{"a"})
	many[1].Close()
	for w.SignalDue() {
	}
	if len(many[0].C) != 1 || w.SignalDue() {
		t.Error("a reader is not signaled again, or one is left")
	}
}
