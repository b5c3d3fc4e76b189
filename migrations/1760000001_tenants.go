package migrations

import (
	"github.com/pocketbase/pocketbase/core"
	"github.com/pocketbase/pocketbase/tools/types"
)

func init() {
	create("1760000001_tenants.go", func(core.App) (*core.Collection, error) {
		c := core.NewBaseCollection("tenants")
		c.Fields.Add(
			&core.TextField{Name: "name", Required: true, Max: 255, Presentable: true},
			&core.BoolField{Name: "apiEnabled"},
			&core.NumberField{Name: "rateLimit", OnlyInt: true, Min: types.Pointer(0.0), Max: types.Pointer(1_000_000_000.0)},
		)
		c.Fields.Add(timestamps()...)
		return c, nil
	})
}
