package search

import (
	"testing"
	"time"
)

func TestTheRarestTrigramsAreAskedFor(t *testing.T) {
	t.Parallel()
	known := &sample{read: time.Now().Add(time.Hour), texts: 100, counts: map[string]int{
		"exa": 100, "xam": 100, "amp": 100, "mpl": 100, "ple": 100, "le7": 2, "ann": 10, "nna": 10, "bob": 1,
	}}
	for _, test := range []struct {
		words []string
		want  string
	}{
		{[]string{"example"}, `"amp"`},                    // the others would only cost
		{[]string{"anna", "example7"}, `"le7" AND "ann"`}, // which spares nine rows of ten
		{[]string{"anna", "example"}, `"ann"`},            // all of its rows have the other
		{[]string{"anna", "bob"}, `"bob" AND "ann"`},
		{[]string{"anna", "unheard"}, `"ard" AND "ear" AND "hea" AND "nhe"`},
		{[]string{"bob", "example7"}, `"bob" AND "le7"`},
		{[]string{"unheard"}, `"ard" AND "ear" AND "hea" AND "nhe"`},
		{[]string{`a"b`}, `"a""b"`},
	} {
		got, err := known.match(nil, trigramsOf(test.words)) // the sample is fresh, so that nothing is read
		if err != nil || got != test.want {
			t.Errorf("%q asks for %s instead of %s (%v)", test.words, got, test.want, err)
		}
	}
	for _, words := range [][]string{{"ab"}, {"030", "4711"}, {"é"}} {
		if trigrams := trigramsOf(words); len(trigrams) > 0 {
			t.Errorf("%q has the trigrams %v", words, trigrams)
		}
	}
}

func TestShortWordsAreAskedForWhereTheyAreRare(t *testing.T) {
	t.Parallel()
	known := &sample{read: time.Now().Add(time.Hour), texts: 500, counts: map[string]int{"an": 100, "qu": 6, "zo": 5, "q": 4}}
	for _, test := range []struct {
		words []string
		want  string
	}{
		{[]string{"an"}, ""}, {[]string{"qu"}, ""}, {[]string{"Zö"}, "zo"}, {[]string{"an", "zo"}, "zo"}, {[]string{"q", "zo"}, "q"}, {[]string{"vj"}, "vj"},
	} {
		if got, err := known.rarest(nil, shortWordsOf(test.words)); err != nil || got != test.want {
			t.Errorf("%q asks for %q instead of %q (%v)", test.words, got, test.want, err)
		}
	}
	if short := shortWordsOf([]string{"anna", "03", "+4"}); len(short) > 0 {
		t.Errorf("%q are short words", short)
	}
}
