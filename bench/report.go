package main

import (
	"cmp"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/levadaflow/levada/bench/jobs"
)

// row is one measurement.
type row struct {
	Job     string      `json:"job"`
	Variant string      `json:"variant"`
	Lines   int64       `json:"lines"`
	Round   int         `json:"round"`
	Wall    float64     `json:"wall_s"`
	CPU     float64     `json:"cpu_s"` // user and system
	PeakKiB int64       `json:"peak_rss_kib"`
	Digest  string      `json:"digest,omitempty"` // of the output
	Equal   bool        `json:"equal"`            // to that by hand; true if there is none
	Failed  bool        `json:"failed"`
	Note    string      `json:"note,omitempty"`
	Values  jobs.Values `json:"values,omitempty"`

	totals bool
}

// ok reports whether the row is a measurement at all.
func (r row) ok() bool { return !r.Failed && r.Note == "" }

// spread is the median of some values, and the least and the greatest.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// summary is what the rounds say of a variant of a job at one size. Ratios are to the program by hand, in the same round.
type summary struct {
	Job       string      `json:"job"`
	Variant   string      `json:"variant"`
	Lines     int64       `json:"lines"`
	Runs      int         `json:"runs"`
	Wall      spread      `json:"wall_s"`
	CPU       spread      `json:"cpu_s"`
	PeakKiB   int64       `json:"peak_rss_kib"` // the greatest
	WallRatio *spread     `json:"wall_ratio,omitempty"`
	CPURatio  *spread     `json:"cpu_ratio,omitempty"`
	Marginal  *spread     `json:"marginal_ns_per_line,omitempty"` // CPU; at the big size only
	MargRatio *spread     `json:"marginal_ratio,omitempty"`
	Equal     bool        `json:"equal"`
	Note      string      `json:"note,omitempty"`
	Values    jobs.Values `json:"values,omitempty"`
}

// build is what it took to build the example.
type build struct {
	Wall  float64 `json:"wall_s"`
	CPU   float64 `json:"cpu_s"`
	Bytes int64   `json:"binary_bytes"`
}

// report is all that a run has found.
type report struct {
	Date      string    `json:"date"`
	Commit    string    `json:"commit"`
	Go        string    `json:"go"`
	CPUs      int       `json:"cpus"`
	Rounds    int       `json:"rounds"`
	Summaries []summary `json:"summaries"`
	Build     *build    `json:"build,omitempty"`
	Rows      []row     `json:"rows"`
}

func newReport(c *runCmd) *report {
	return &report{
		Date: now().UTC().Format(time.DateOnly), Commit: commit(), Rounds: c.Rounds,
		Go: fmt.Sprintf("%s %s/%s", runtime.Version(), runtime.GOOS, runtime.GOARCH), CPUs: runtime.NumCPU(),
	}
}

// commit names the commit that the working directory is at, with a "+" if there are changes.
func commit() string {
	head, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	changes, err := exec.Command("git", "status", "--porcelain", "--untracked-files=no").Output()
	if err == nil && len(changes) > 0 {
		return strings.TrimSpace(string(head)) + "+"
	}
	return strings.TrimSpace(string(head))
}

// runKey is a size of a job in a round.
type runKey struct {
	job   string
	lines int64
	round int
}

func (r row) key() runKey { return runKey{r.Job, r.Lines, r.Round} }

// byHand returns the measurements of the programs by hand.
func (r *report) byHand() map[runKey]row {
	all := map[runKey]row{}
	for _, x := range r.Rows {
		if x.Variant == jobs.Hand && x.ok() {
			all[x.key()] = x
		}
	}
	return all
}

// compare sets which outputs are equal.
func (r *report) compare() {
	hand := r.byHand()
	for i, x := range r.Rows {
		want, ok := hand[x.key()]
		r.Rows[i].Equal = !x.Failed && (!ok || !x.ok() || x.Digest == want.Digest)
	}
}

// failure returns an error if a program failed or its output differs.
func (r *report) failure() error {
	var all []string
	for _, x := range r.Rows {
		what := "its results differ"
		if x.Failed {
			what = x.Note
		}
		if !x.Equal {
			all = append(all, fmt.Sprintf("%s, %s, %d lines, round %d: %s", x.Job, x.Variant, x.Lines, x.Round, what))
		}
	}
	if all == nil {
		return nil
	}
	return fmt.Errorf("%d of %d runs are wrong:\n%s", len(all), len(r.Rows), strings.Join(all, "\n"))
}

// summarize makes the summaries of the rows.
func (r *report) summarize() {
	hand := r.byHand()
	small := map[runKey]row{} // with lines 0, by variant in the job
	groups := map[string][]row{}
	var order []string
	for _, x := range r.Rows {
		id := fmt.Sprintf("%s\x00%s\x00%d", x.Job, x.Variant, x.Lines)
		if groups[id] == nil {
			order = append(order, id)
		}
		groups[id] = append(groups[id], x)
		k := runKey{x.Job + "\x00" + x.Variant, 0, x.Round}
		if first, ok := small[k]; x.ok() && (!ok || x.Lines < first.Lines) {
			small[k] = x
		}
	}
	for _, id := range order {
		r.Summaries = append(r.Summaries, summaryOf(groups[id], hand, small))
	}
	slices.SortStableFunc(r.Summaries, func(a, b summary) int {
		if a.Job != b.Job {
			return 0
		}
		return cmp.Or(cmp.Compare(a.Lines, b.Lines), cmp.Compare(rankOf(a.Variant), rankOf(b.Variant)))
	})
}

// rankOf puts the program by hand first and the peers last.
func rankOf(variant string) string {
	switch {
	case variant == jobs.Hand:
		return "0"
	case strings.HasPrefix(variant, jobs.Levada+" "):
		return "1" + variant
	}
	return "2" + variant
}

// summaryOf makes the summary of the rows of one variant and size. hand has the programs by hand, small each variant's
// measurements at the smallest size.
func summaryOf(rows []row, hand, small map[runKey]row) summary {
	x := rows[0]
	s := summary{Job: x.Job, Variant: x.Variant, Lines: x.Lines, Equal: true, Note: x.Note, Values: x.Values}
	var wall, cpu, wallRatio, cpuRatio, marginal, marginalRatio []float64
	// perLine is the cost of a further line in nanoseconds.
	perLine := func(big row) (ns float64, ok bool) {
		first, ok := small[runKey{big.Job + "\x00" + big.Variant, 0, big.Round}]
		if !ok || first.Lines >= big.Lines {
			return 0, false
		}
		return (big.CPU - first.CPU) / float64(big.Lines-first.Lines) * 1e9, true
	}
	for _, x := range rows {
		s.Equal = s.Equal && x.Equal
		if !x.ok() {
			s.Note = x.Note
			continue
		}
		s.Runs++
		s.PeakKiB = max(s.PeakKiB, x.PeakKiB)
		wall, cpu = append(wall, x.Wall), append(cpu, x.CPU)
		ns, sized := perLine(x)
		if sized {
			marginal = append(marginal, ns)
		}
		h, ok := hand[x.key()]
		if !ok || x.Variant == jobs.Hand {
			continue
		}
		wallRatio, cpuRatio = append(wallRatio, x.Wall/h.Wall), append(cpuRatio, x.CPU/h.CPU)
		if base, ok := perLine(h); ok && sized {
			marginalRatio = append(marginalRatio, ns/base)
		}
	}
	if s.Runs > 0 {
		s.Wall, s.CPU = *spreadOf(wall), *spreadOf(cpu)
	}
	s.WallRatio, s.CPURatio = spreadOf(wallRatio), spreadOf(cpuRatio)
	s.Marginal, s.MargRatio = spreadOf(marginal), spreadOf(marginalRatio)
	return s
}

// spreadOf returns the spread of values, nil if there are none.
func spreadOf(values []float64) *spread {
	if len(values) == 0 {
		return nil
	}
	return &spread{median(values, func(v float64) float64 { return v }), slices.Min(values), slices.Max(values)}
}

// median returns the median of what fn says of the elements: the mean of both in the middle if their number is even.
func median[T any](all []T, fn func(T) float64) float64 {
	values := make([]float64, len(all))
	for i, x := range all {
		values[i] = fn(x)
	}
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
