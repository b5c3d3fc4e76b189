package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeBill writes which modules the executable was built of, as the executable itself says, in CycloneDX.
func (r *release) writeBill(t target, binary string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("reading what %s was built of: %w", binary, err)
	}
	bill := cyclonedx.NewBOM()
	program := cyclonedx.Component{Type: cyclonedx.ComponentTypeApplication, BOMRef: "contactbase", Name: "contactbase", Version: r.version}
	bill.Metadata = &cyclonedx.Metadata{Timestamp: r.at.Format("2006-01-02T15:04:05Z"), Component: &program}
	components := []cyclonedx.Component{{
		Type: cyclonedx.ComponentTypeLibrary, BOMRef: "pkg:golang/std", Name: "std", Version: info.GoVersion, PackageURL: "pkg:golang/std@" + info.GoVersion[len("go"):],
	}}
	for _, module := range info.Deps {
		components = append(components, component(module))
	}
	bill.Components = &components
	return create(filepath.Join(r.out, r.name(t)+".cdx.json"), func(file io.Writer) error {
		return cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill, cyclonedx.SpecVersion1_6)
	})
}

// component is a module, by the package URL that scanners look up. See https://github.com/package-url/purl-spec.
func component(module *debug.Module) cyclonedx.Component {
	if module.Replace != nil {
		module = module.Replace
	}
	url := "pkg:golang/" + module.Path + "@" + module.Version
	return cyclonedx.Component{Type: cyclonedx.ComponentTypeLibrary, BOMRef: url, Name: module.Path, Version: module.Version, PackageURL: url}
}
