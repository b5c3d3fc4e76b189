package sqlite

// HandOn gives a value that a plan knows to the plan right behind it in the same transaction, which need not read it again. No other
// process writes in between. The value has to hold once the statements of the plan are run: what a plan is given, and its statements
// may change, it does not hand on. Whoever writes without a plan, and a plan that hands nothing on, ends that. Where tx is not that of a
// plan nothing is handed on.
func HandOn[T any](tx Reader, value T) {
	if r, ok := tx.(*planReader); ok {
		r.handed = append(r.handed, value)
	}
}

// Handed returns the value of a type that the plan right before has handed on, and whether there is one.
func Handed[T any](tx Reader) (value T, ok bool) {
	if r, isPlan := tx.(*planReader); isPlan {
		for _, handed := range r.given {
			if value, ok = handed.(T); ok {
				return value, true
			}
		}
	}
	return value, false
}
