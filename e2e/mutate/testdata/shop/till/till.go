// Package till is what the test of mutate mutates. Its own tests and those of the counter leave some changes unnoticed.
package till

import "errors"

type open bool

func isOpen(hour int) open { return hour > 8 } // no mutant of this comparison compiles

var errTooMany = errors.New("too many")

// Till is open from the start.
type Till struct {
	Sum, Receipts int
}

// Add adds prices, at most most. The tests try no list of exactly that length.
func (t *Till) Add(prices []int, most int) error {
	if len(prices) > most && bool(isOpen(9)) {
		return errTooMany
	}
	for _, price := range prices {
		t.Sum += price
	}
	t.Receipts++ // no test looks at it
	return nil
}

// Change returns what the customer gets back. Only the counter has a test for it.
func Change(paid, price int) int { return paid - price }

// Tip has no test.
func Tip(price int) int { return price * 10 / 100 }
