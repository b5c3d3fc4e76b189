package main

import (
	"debug/buildinfo"
	"fmt"
	"io"
	"path/filepath"
	"runtime/debug"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeBill writes the bill of materials in CycloneDX: the modules that the executable says it was built from,
// and their licenses.
func (r *release) writeBill(t target, binary string, licensed licenses) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return fmt.Errorf("reading what %s was built of: %w", binary, err)
	}
	bill := cyclonedx.NewBOM()
	program := cyclonedx.Component{
		Type: cyclonedx.ComponentTypeApplication, BOMRef: "contactbase",
		Name: "contactbase", Version: r.version, Licenses: licenseChoices([]string{"MIT"}),
	}
	if r.home.Repository != "" {
		program.ExternalReferences = &[]cyclonedx.ExternalReference{{Type: cyclonedx.ERTypeVCS, URL: r.home.Repository}}
	}
	bill.Metadata = &cyclonedx.Metadata{Timestamp: r.at.Format("2006-01-02T15:04:05Z"), Component: &program}
	components := []cyclonedx.Component{{
		Type: cyclonedx.ComponentTypeLibrary, BOMRef: "pkg:golang/std", Name: "std",
		Version: info.GoVersion, PackageURL: "pkg:golang/std@" + info.GoVersion[len("go"):],
		Licenses: licenseChoices(licensed.of("Go")),
	}}
	for _, module := range info.Deps {
		components = append(components, component(module, licensed))
	}
	bill.Components = &components
	return create(filepath.Join(r.out, r.name(t)+".cdx.json"), func(file io.Writer) error {
		return cyclonedx.NewBOMEncoder(file, cyclonedx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bill,
			cyclonedx.SpecVersion1_6)
	})
}

// component is a module, by the package URL that scanners look up. See https://github.com/package-url/purl-spec.
func component(module *debug.Module, licensed licenses) cyclonedx.Component {
	if module.Replace != nil {
		module = module.Replace
	}
	url := "pkg:golang/" + module.Path + "@" + module.Version
	return cyclonedx.Component{
		Type: cyclonedx.ComponentTypeLibrary, BOMRef: url, Name: module.Path, Version: module.Version, PackageURL: url,
		Licenses: licenseChoices(licensed.of(module.Path + " " + module.Version)),
	}
}

// licenseChoices returns SPDX identifiers in the form of CycloneDX; nil for none.
func licenseChoices(ids []string) *cyclonedx.Licenses {
	if len(ids) == 0 {
		return nil
	}
	var all cyclonedx.Licenses
	for _, id := range ids {
		all = append(all, cyclonedx.LicenseChoice{License: &cyclonedx.License{ID: id}})
	}
	return &all
}
