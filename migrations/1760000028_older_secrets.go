package migrations

import "github.com/pocketbase/pocketbase/core"

// `previousSecret` is the secret that the last rotation replaced. Those of earlier rotations that still sign are
// in `olderSecrets`, as JSON that is sealed like a secret. Without that field, only the previous secret signs
// beside the current one.
func init() {
	add("1760000028_older_secrets.go", "webhooks", &core.TextField{Name: "olderSecrets", Max: 10_000, Hidden: true})
}
