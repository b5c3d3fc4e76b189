package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"contactbase/internal/charset"
	"contactbase/internal/contact/imports"
	"contactbase/internal/contact/sheet"
)

// follow works on the import, reports its progress and prints the result. An interrupt cancels the import.
func (i *importing) follow(command *cobra.Command, id string) error {
	ctx := command.Context()
	ended := make(chan error, 1)
	go func() { ended <- imports.WorkOn(ctx, i.app, id) }()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if ctx.Err() != nil {
				return errors.Join(errors.New("interrupted; rows already applied stay"),
					imports.Cancel(context.WithoutCancel(ctx), i.app, id))
			}
			if err != nil {
				return err
			}
			return i.report(command, id)
		case <-tick.C:
			if present, err := imports.Find(i.app, id); err == nil {
				fmt.Fprintf(command.ErrOrStderr(), "%d of %d rows\n", present.Position, present.Total)
			}
		}
	}
}

// writeProblems writes the rejected rows and those with warnings to the files of the flags.
func (i *importing) writeProblems(ctx context.Context, over *imports.Import) error {
	if i.refused != "" {
		if err := i.writeRefused(over); err != nil {
			return err
		}
	}
	if i.warnings == "" {
		return nil
	}
	return writeFile(i.warnings, func(to io.Writer) error {
		return imports.WriteProblems(ctx, i.app, over.ID, imports.Problems[1], to)
	})
}

func (i *importing) report(command *cobra.Command, id string) error {
	over, err := imports.Find(i.app, id)
	if err != nil {
		return err
	}
	if over.Status != imports.Done && over.Status != imports.Checked {
		return errors.New("the import was cancelled; rows already applied stay")
	}
	for _, refusal := range over.Refusals {
		fmt.Fprintf(command.ErrOrStderr(), "row %d is rejected: %s\n", refusal.Row, refusal.Reason)
	}
	notes, err := imports.Notes(i.app, id, imports.MaxNotes)
	if err != nil {
		return err
	}
	for _, note := range notes {
		fmt.Fprintf(command.ErrOrStderr(), "row %d: %s\n", note.Row, note.Text)
	}
	for _, finding := range over.Findings {
		fmt.Fprintln(command.ErrOrStderr(), finding)
	}
	if err := i.writeProblems(command.Context(), over); err != nil {
		return err
	}
	if i.dryRun {
		if err := imports.Cancel(command.Context(), i.app, id); err != nil {
			return err
		}
	}
	answer := i.answer(over)
	if !asJSON(command) { // printMapping has printed the columns
		answer = answer[:slices.IndexFunc(answer, func(p property) bool { return p.name == "match" })]
	}
	wrong := printOne(command, answer)
	if over.RowsRefused > 0 {
		wrong = errors.Join(wrong, fmt.Errorf(
			"%d of %d rows were rejected; --refused FILE writes them with the reasons", over.RowsRefused, over.Total,
		))
	}
	return errors.Join(wrong, i.unanswered(over.Encodings))
}

// writeRefused writes the refused rows to the file of --refused, in the format of its name or of the import.
func (i *importing) writeRefused(of *imports.Import) error {
	format := of.Format
	if named := sheet.FormatOf(i.refused); named == sheet.Workbook || format == sheet.Workbook {
		format = named
	}
	return writeFile(i.refused, func(to io.Writer) error {
		return imports.WriteRefused(i.app, of.ID, format, to)
	})
}

// answer returns the command's report on an import.
func (i *importing) answer(of *imports.Import) row {
	mapped, ignored := shown(of.Columns, of.Mapping, i.unknown)
	return row{
		{"id", of.ID},
		{"rows", of.Total},
		{"created", of.RowsCreated},
		{"updated", of.RowsUpdated},
		{"unchanged", of.RowsUnchanged},
		{"refused", of.RowsRefused},
		{"repeated", of.RowsRepeated},
		{"skipped", of.RowsSkipped},
		{"warnings", of.Warnings},
		{"dryRun", i.dryRun},
		{"match", i.choices.Match},
		{"findings", append([]imports.Finding{}, of.Findings...)},
		{"encoding", of.Encoding},
		{"encodings", append([]charset.Candidate{}, of.Encodings...)},
		{"headings", of.Headings},
		{"above", append([]string{}, of.Above...)},
		{"mapping", mapped},
		{"ignored", ignored},
		{"unknown", i.unknown},
	}
}
