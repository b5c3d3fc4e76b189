package sqlite

// HandOn caches a value that a write function knows for the next write function of the same batch, which need not read it again. The value
// must be valid after the statements of the function have run. A transaction that is not a write function, and a write function that hands
// nothing on, empties the cache. Outside of write functions HandOn does nothing.
func HandOn[T any](tx Reader, value T) {
	if r, ok := tx.(*functionReader); ok {
		r.handed = append(r.handed, value)
	}
}

// Handed returns the value of that type that the write function before has handed on, and whether there is one.
func Handed[T any](tx Reader) (value T, ok bool) {
	if r, isPlan := tx.(*functionReader); isPlan {
		for _, handed := range r.given {
			if value, ok = handed.(T); ok {
				return value, true
			}
		}
	}
	return value, false
}
