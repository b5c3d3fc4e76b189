package activity

import (
	"encoding/json"
	"math"
	"time"
)

// Answers counts how long answers took, in buckets: the bucket i has those of up to √2^i milliseconds. It is stored as a JSON
// list, without the empty buckets at the end.
type Answers []int64

// answerBuckets is how many there are; the last one has what took 11.6 s or more.
const answerBuckets = 28

// add counts an answer.
func (a *Answers) add(took time.Duration) {
	bucket := 0
	if ms := float64(took.Milliseconds()); ms > 1 {
		bucket = min(answerBuckets-1, int(math.Ceil(2*math.Log2(ms))))
	}
	a.grow(bucket + 1)
	(*a)[bucket]++
}

// merge adds the counts of others.
func (a *Answers) merge(others Answers) {
	a.grow(len(others))
	for i, n := range others {
		(*a)[i] += n
	}
}

func (a *Answers) grow(buckets int) {
	for len(*a) < buckets {
		*a = append(*a, 0)
	}
}

// Count returns how many answers there were.
func (a Answers) Count() (n int64) {
	for _, bucket := range a {
		n += bucket
	}
	return n
}

// Quantile returns within which time that part of the answers came, from 0 to 1, as far as the buckets tell: it is at most 41 %
// too long. Without answers it is 0.
func (a Answers) Quantile(part float64) time.Duration {
	rank := int64(math.Ceil(part * float64(a.Count())))
	for i, n := range a {
		if rank -= n; rank <= 0 && n > 0 {
			return time.Duration(math.Pow(2, float64(i)/2) * float64(time.Millisecond)).Round(time.Millisecond)
		}
	}
	return 0
}

func parseAnswers(text string) (a Answers, err error) {
	err = json.Unmarshal([]byte(text), &a)
	return a, err
}
