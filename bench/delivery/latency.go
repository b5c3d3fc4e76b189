package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"contactbase/bench/receiver"
)

// warmUp is how long the server works before anything is measured.
const warmUp = 3 * time.Second

// latency measures how long an event takes from its commit to its arrival, at 20 events a second.
func latency(b *bench) error {
	const perSecond = 20
	fmt.Fprintf(b.out, "\n### Latency: %d events/s, one receiver that answers at once, %s a run\n\n", perSecond, *length)
	fmt.Fprintln(b.out, "| from | p50 | p90 | p99 | most | events |")
	fmt.Fprintln(b.out, "|---|---|---|---|---|---|")
	var stamped, answered []time.Duration
	for range *rounds {
		s, a, err := b.pace(1, nil, perSecond)
		if err != nil {
			return err
		}
		stamped, answered = append(stamped, s...), append(answered, a...)
	}
	for _, row := range []struct {
		from      string
		latencies []time.Duration
	}{{"the event's timestamp, before the commit", stamped}, {"the client's answer, after the commit", answered}} {
		l := row.latencies
		slices.Sort(l)
		fmt.Fprintf(b.out, "| %s | %s | %s | %s | %s | %d |\n", row.from, short(quantile(l, .5)), short(quantile(l, .9)), short(quantile(l, .99)), short(quantile(l, 1)), len(l))
	}
	return nil
}

// stopwatch follows events from the client's answer to their arrival.
type stopwatch struct {
	mu       sync.Mutex
	began    time.Time            // arrivals of earlier events do not count
	answers  map[string]time.Time // by contact
	stamped  []time.Duration
	answered []time.Duration
	early    map[string][]time.Time // arrivals before the client's answer, which come more than once a contact
}

// arrive takes in a delivery.
func (w *stopwatch) arrive(body []byte, at time.Time) {
	stamp, err := time.Parse(time.RFC3339, receiver.Text(body, "timestamp"))
	_, data, _ := bytes.Cut(body, []byte(`"data":`))
	contact := receiver.Text(data, "id")
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil || stamp.Before(w.began) {
		return
	}
	w.stamped = append(w.stamped, at.Sub(stamp))
	if answer, known := w.answers[contact]; known {
		w.answered = append(w.answered, at.Sub(answer))
		return
	}
	w.early[contact] = append(w.early[contact], at)
}

// answer takes in what the client was told.
func (w *stopwatch) answer(contact string, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[contact] = at
	for _, arrival := range w.early[contact] {
		w.answered = append(w.answered, arrival.Sub(at))
	}
	delete(w.early, contact)
}

// pace creates contacts at a rate, each of which goes to so many healthy receivers and to all bad ones, and returns how
// long the events took to the healthy ones: from their timestamps, which are set in the transaction, and from the
// client's answers.
func (b *bench) pace(healthy int, bad []string, perSecond float64) (stamped, answered []time.Duration, err error) {
	i, err := b.newInstallation()
	if err != nil {
		return nil, nil, err
	}
	defer i.remove()
	watch := &stopwatch{answers: map[string]time.Time{}, early: map[string][]time.Time{}}
	urls, closeAll, err := crowd{endpoints: healthy, answer: receiver.AtOnce}.receivers(watch.arrive)
	if err != nil {
		return nil, nil, err
	}
	defer closeAll()
	if _, err := i.webhooks(append(urls, bad...)...); err != nil {
		return nil, nil, err
	}
	if err := i.serve(); err != nil {
		return nil, nil, err
	}
	defer i.stop()
	watch.began = time.Now().Add(warmUp).UTC().Truncate(time.Millisecond)
	sent, err := i.create(watch, perSecond, watch.began.Add(*length))
	if err != nil {
		return nil, nil, err
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		watch.mu.Lock()
		stamped, answered = watch.stamped, watch.answered
		watch.mu.Unlock()
		if len(answered) >= sent*healthy {
			return stamped, answered, nil
		}
		if time.Now().After(end) {
			return nil, nil, fmt.Errorf("only %d of %d events arrived", len(answered), sent*healthy)
		}
	}
}

// create creates contacts until the end, with random gaps, whether earlier ones are answered or not. It returns how many
// were created since the watch began.
func (i *installation) create(watch *stopwatch, perSecond float64, end time.Time) (counted int, err error) {
	client := &http.Client{Timeout: 30 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 16}}
	defer client.CloseIdleConnections()
	var group sync.WaitGroup
	var mu sync.Mutex
	next := time.Now()
	for n := 0; next.Before(end); n++ {
		time.Sleep(time.Until(next))
		next = next.Add(time.Duration(rand.ExpFloat64() / perSecond * float64(time.Second)))
		group.Go(func() {
			created, failure := i.createOne(client, watch, n)
			mu.Lock()
			defer mu.Unlock()
			if failure != nil {
				err = failure
			} else if !created.Before(watch.began) {
				counted++
			}
		})
	}
	group.Wait()
	return counted, err
}

// createOne creates a contact and returns its time of creation, which is that of its event but for a millisecond or two.
func (i *installation) createOne(client *http.Client, watch *stopwatch, n int) (time.Time, error) {
	body := fmt.Sprintf(`{"name":"Person %d","email":"p%d@example.com","company":"Firma"}`, n, n)
	request, err := http.NewRequest(http.MethodPost, i.base+"/api/ext/v1/contacts", bytes.NewReader([]byte(body))) //nolint:noctx // the client has a timeout
	if err != nil {
		return time.Time{}, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-API-Key", i.key)
	response, err := client.Do(request)
	if err != nil {
		return time.Time{}, err
	}
	defer response.Body.Close()
	at := time.Now()
	var answer struct {
		Data struct {
			ID        string
			CreatedAt time.Time
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || response.StatusCode != http.StatusCreated {
		return time.Time{}, fmt.Errorf("creating a contact gives %d (%w)", response.StatusCode, err)
	}
	watch.answer(answer.Data.ID, at)
	return answer.Data.CreatedAt, nil
}
