package sqlite

import (
	"fmt"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/pocketbase/dbx"
	"github.com/pocketbase/pocketbase/core"
)

// variants are the ways to open data.db to compare.
var variants = []struct {
	name string
	open func(path string) (*dbx.DB, error)
}{
	{"stock", func(path string) (*dbx.DB, error) { return dbx.Open(driverName, dataSource(path, Full, writerCache)) }},
	{"grouped", func(path string) (*dbx.DB, error) { return open(path, Full, 0, 0) }},
	{"groupedStatements", func(path string) (*dbx.DB, error) { return open(path, Full, readerStatements, writerStatements) }},
}

func benchmarkApp(b *testing.B, open func(path string) (*dbx.DB, error)) core.App {
	b.Helper()
	app := core.NewBaseApp(core.BaseAppConfig{DataDir: b.TempDir(), DBConnect: func(path string) (*dbx.DB, error) {
		if filepath.Base(path) != dataFile {
			return core.DefaultDBConnect(path)
		}
		return open(path)
	}})
	if err := app.Bootstrap(); err != nil {
		b.Fatalf("opening an app: %v", err)
	}
	b.Cleanup(func() {
		if err := app.ResetBootstrapState(); err != nil {
			b.Errorf("closing the app: %v", err)
		}
	})
	_ = setLimits(app) // PocketBase's own pool stays as it is
	things := core.NewBaseCollection("things")
	things.Fields.Add(&core.TextField{Name: "name"}, &core.TextField{Name: "email"}, &core.TextField{Name: "phone"})
	if err := app.Save(things); err != nil {
		b.Fatalf("creating a collection: %v", err)
	}
	return app
}

// BenchmarkSave saves small records with full durability.
func BenchmarkSave(b *testing.B) {
	for _, variant := range variants {
		for _, writers := range []int{1, 32} {
			b.Run(fmt.Sprintf("%s/writers=%d", variant.name, writers), func(b *testing.B) {
				app := benchmarkApp(b, variant.open)
				before := countersOf(writerOf(app))
				var number atomic.Int64
				work := func(next func() bool) {
					for next() {
						record := thing(b, app, fmt.Sprint("name ", number.Add(1)))
						record.Set("email", "name@example.com")
						record.Set("phone", "+420123456789")
						if err := app.Save(record); err != nil {
							b.Errorf("saving: %v", err)
						}
					}
				}
				b.ResetTimer()
				if writers == 1 {
					work(func() bool { return number.Load() < int64(b.N) })
				} else {
					b.SetParallelism(writers / runtime.GOMAXPROCS(0))
					b.RunParallel(func(pb *testing.PB) { work(pb.Next) })
				}
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "writes/s")
				after := countersOf(writerOf(app))
				if commits := after.Commits - before.Commits; commits > 0 {
					b.ReportMetric(float64(after.Writes-before.Writes)/float64(commits), "writes/commit")
				}
			})
		}
	}
}

// BenchmarkFind reads a record by its id.
func BenchmarkFind(b *testing.B) {
	for _, variant := range variants {
		b.Run(variant.name, func(b *testing.B) {
			app := benchmarkApp(b, variant.open)
			record := thing(b, app, "name")
			if err := app.Save(record); err != nil {
				b.Fatalf("saving: %v", err)
			}
			for b.Loop() {
				if _, err := app.FindRecordById("things", record.Id); err != nil {
					b.Fatalf("finding: %v", err)
				}
			}
		})
	}
}
