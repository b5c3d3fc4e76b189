package activity

import (
	"encoding/json"
	"math"
	"time"
)

// ResponseTimes is a histogram of response times. Bucket i counts responses that took up to √2^i milliseconds. It is
// stored as a JSON array without the empty buckets at the end.
type ResponseTimes []int64

// maxBuckets is the number of buckets. The last one has no upper bound.
const maxBuckets = 28

func (t *ResponseTimes) add(took time.Duration) {
	bucket := 0
	if ms := float64(took.Milliseconds()); ms > 1 {
		bucket = min(maxBuckets-1, int(math.Ceil(2*math.Log2(ms))))
	}
	t.grow(bucket + 1)
	(*t)[bucket]++
}

func (t *ResponseTimes) merge(others ResponseTimes) {
	t.grow(len(others))
	for i, n := range others {
		(*t)[i] += n
	}
}

func (t *ResponseTimes) grow(buckets int) {
	for len(*t) < buckets {
		*t = append(*t, 0)
	}
}

// Count returns the number of responses.
func (t ResponseTimes) Count() (n int64) {
	for _, bucket := range t {
		n += bucket
	}
	return n
}

// Quantile returns the response time of a quantile from 0 to 1: the upper bound of its bucket, which is at most 41 %
// too long. It returns 0 if there are no responses.
func (t ResponseTimes) Quantile(part float64) time.Duration {
	rank := int64(math.Ceil(part * float64(t.Count())))
	for i, n := range t {
		if rank -= n; rank <= 0 && n > 0 {
			return time.Duration(math.Pow(2, float64(i)/2) * float64(time.Millisecond)).Round(time.Millisecond)
		}
	}
	return 0
}

func parseResponseTimes(text string) (t ResponseTimes, err error) {
	err = json.Unmarshal([]byte(text), &t)
	return t, err
}
