package sqlite

// CacheInBatch caches a value for the next write function of the same batch, which saves a tenth of the time of a create. The value must be valid
// after the statements of this write function. The next transaction empties the cache, unless it is a write function that caches values itself.
// Outside write functions, CacheInBatch does nothing.
func CacheInBatch[T any](tx Reader, value T) {
	if r, ok := tx.(*functionReader); ok {
		r.next = append(r.next, value)
	}
}

// CachedInBatch returns the value of type T that the previous write function has cached, and whether there is one.
func CachedInBatch[T any](tx Reader) (value T, ok bool) {
	if r, isFunction := tx.(*functionReader); isFunction {
		for _, cached := range r.cached {
			if value, ok = cached.(T); ok {
				return value, true
			}
		}
	}
	return value, false
}
