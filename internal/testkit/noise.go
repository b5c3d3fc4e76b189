package testkit

import "math/rand/v2"

// Noise returns a text of n letters and digits that can hardly be compressed, the same for each seed.
func Noise(seed uint64, n int) string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/"
	source := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // the same text each time
	text := make([]byte, n)
	for i := range text {
		text[i] = letters[source.IntN(len(letters))]
	}
	return string(text)
}
