package migrations

// An import has the encoding of its file, and the candidates if that is not certain: see charset.Candidate.
func init() {
	execute("1760000050_import_encoding.go",
		"ALTER TABLE `_imports` ADD `encoding` TEXT NOT NULL DEFAULT ''",
		"ALTER TABLE `_imports` ADD `encodings` TEXT NOT NULL DEFAULT '[]'",
	)
}
