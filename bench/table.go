package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// markdown is the report as tables.
func (r *report) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Measured %s at commit %s\n\n", r.Date, r.Commit)
	fmt.Fprintf(&b, "%s, %d processors, %d rounds. Values are medians, in brackets least and greatest; peak RSS is the greatest.\n"+
		"Ratios (÷) are to the program by hand, in the same round. CPU is user and system. Marginal: (CPU at this size -\n"+
		"CPU at the small size) / (lines between).\n", r.Go, r.CPUs, r.Rounds)
	r.programs(&b)
	r.values(&b)
	if r.Build != nil {
		fmt.Fprintf(&b, "\nFirst build of examples/accesslog, with an empty cache: %.1f s (%.1f s CPU); its binary: %.1f MB.\n",
			r.Build.Wall, r.Build.CPU, float64(r.Build.Bytes)/1e6)
	}
	return b.String()
}

// programs writes the tables of programs that have a size or something to be compared with.
func (r *report) programs(b *strings.Builder) {
	job := ""
	for _, s := range r.Summaries {
		if s.Values != nil {
			continue
		}
		if s.Job != job {
			job = s.Job
			fmt.Fprintf(b, "\n## %s\n\n| lines | program | wall s | CPU s | peak RSS MiB | wall ÷ | CPU ÷ | marginal ns/line | "+
				"marginal ÷ | equal |\n|---|---|---|---|---|---|---|---|---|---|\n", job)
		}
		fmt.Fprintf(b, "| %s | %s ", count(s.Lines), s.Variant)
		if s.Runs == 0 {
			fmt.Fprintf(b, "| %s |||||||%s |\n", strings.ReplaceAll(s.Note, "|", "/"), yes(s.Equal))
			continue
		}
		fmt.Fprintf(b, "| %s | %s | %.1f | %s | %s | %s | %s | %s |\n", s.Wall.text(3), s.CPU.text(3), float64(s.PeakKiB)/1024,
			s.WallRatio.text(2), s.CPURatio.text(2), s.Marginal.text(0), s.MargRatio.text(2), yes(s.Equal))
	}
}

// values writes the table of what jobs have measured themselves.
func (r *report) values(b *strings.Builder) {
	title := "\n## Measured by the job itself\n\n| job | program | values |\n|---|---|---|\n"
	for _, s := range r.Summaries {
		if s.Values == nil {
			continue
		}
		var all []string
		for _, name := range slices.Sorted(maps.Keys(s.Values)) {
			all = append(all, fmt.Sprintf("%s %.4g", name, s.Values[name]))
		}
		fmt.Fprintf(b, "%s| %s | %s | %s |\n", title, s.Job, s.Variant, strings.Join(all, ", "))
		title = ""
	}
}

// text is "MEDIAN [MIN-MAX]", "-" for no values.
func (s *spread) text(decimals int) string {
	if s == nil {
		return "-"
	}
	if s.Min == s.Max {
		return fmt.Sprintf("%.*f", decimals, s.Median)
	}
	return fmt.Sprintf("%.*f [%.*f-%.*f]", decimals, s.Median, decimals, s.Min, decimals, s.Max)
}

// count is a number of lines in a short form.
func count(n int64) string {
	switch {
	case n == 0:
		return "-"
	case n%1_000_000 == 0:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n%1000 == 0:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "**no**"
}
