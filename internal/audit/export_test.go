package audit

import "github.com/pocketbase/pocketbase/core"

// ListWalking is List, and looks at that many entries at most.
func ListWalking(app core.App, q Query, walk int) (*Page, error) { return q.list(app, walk) }
