package retention

import "time"

// PollEvery sets how often the sweeper looks without being woken, before Start.
func (s *Sweeper) PollEvery(interval time.Duration) { s.poll = interval }
