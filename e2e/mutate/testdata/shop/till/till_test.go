package till

import "testing"

func TestAdd(t *testing.T) {
	for _, tt := range []struct {
		prices []int
		sum    int
		err    error
	}{{[]int{2, 3}, 5, nil}, {[]int{1, 1, 1, 1}, 0, errTooMany}} {
		till := &Till{}
		if err := till.Add(tt.prices, 3); till.Sum != tt.sum || err != tt.err {
			t.Errorf("%v gives %d, %v", tt.prices, till.Sum, err)
		}
	}
}

func TestFails(t *testing.T) { t.Error("without a mutant") }
