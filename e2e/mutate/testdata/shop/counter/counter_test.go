package counter

import (
	"testing"

	"shop/till"
)

func TestChange(t *testing.T) {
	if till.Change(5, 3) != 2 {
		t.Error("wrong change")
	}
}

func TestSlow(t *testing.T) { t.Error("is not among those that run") }
