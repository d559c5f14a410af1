package scenario

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/levadaflow/levada"
)

// Dispute is a block of a file whose expected output is believed to be wrong.
type Dispute struct {
	File   string // base name, without .txt
	Block  int    // from 0
	Reason string // the rule that it breaks, and what Beam does
}

// Disputed are the disputed blocks of the files in testdata/scenarios. There are none.
var Disputed []Dispute

// Verdict is what is to be said of one file.
type Verdict struct {
	Name     string
	NotYet   []string // not run: what it uses that is not supported yet
	Failed   bool
	Disputed []Dispute // blocks that differ as disputed
	Diff     string    // for people; "" unless Failed
}

// Judge runs a file in each mode, which must all print the same, and compares with what is expected.
func Judge(name string, data []byte, modes []levada.Embedded, disputed []Dispute) (Verdict, error) {
	v := Verdict{Name: name}
	f, err := Parse(name, data)
	if err != nil {
		return v, err
	}
	var diff strings.Builder
	for _, mode := range modes {
		r, err := Run(f, mode)
		if err != nil {
			return v, err
		}
		if v.NotYet = r.NotYet; len(v.NotYet) > 0 {
			return v, nil
		}
		v.judge(&diff, r, mode, disputed)
	}
	v.Diff = diff.String()
	return v, nil
}

// judge compares the outputs of one run.
func (v *Verdict) judge(diff io.Writer, r *Result, mode levada.Embedded, disputed []Dispute) {
	failed := r.Failed()
	for _, i := range failed {
		if d, ok := find(disputed, v.Name, i); ok {
			if !slices.Contains(v.Disputed, d) {
				v.Disputed = append(v.Disputed, d)
			}
			continue
		}
		v.Failed = true
		b := &r.File.Blocks[i]
		fmt.Fprintf(diff, "%s %s (parallelism %d, bundles of %d, general path %v, unfused %v)\n",
			b.Pos(), b.Directive, mode.Parallelism, mode.MaxBundle, mode.GeneralPath, mode.Unfused)
		writeDiff(diff, b.Expected, r.Outputs[i])
	}
	for _, d := range disputed {
		if d.File == v.Name && !slices.Contains(failed, d.Block) {
			v.Failed = true
			fmt.Fprintf(diff, "%s block %d passes, although it is disputed: %s\n", v.Name, d.Block, d.Reason)
		}
	}
}

func find(all []Dispute, file string, block int) (Dispute, bool) {
	for _, d := range all {
		if d.File == file && d.Block == block {
			return d, true
		}
	}
	return Dispute{}, false
}

// writeDiff shows two lists of lines: what they share at both ends is left out.
func writeDiff(w io.Writer, want, got []string) {
	from := 0
	for from < len(want) && from < len(got) && want[from] == got[from] {
		from++
	}
	to := 0
	for to < len(want)-from && to < len(got)-from && want[len(want)-1-to] == got[len(got)-1-to] {
		to++
	}
	for _, l := range want[from : len(want)-to] {
		fmt.Fprintf(w, "  - %s\n", l)
	}
	for _, l := range got[from : len(got)-to] {
		fmt.Fprintf(w, "  + %s\n", l)
	}
}

// Modes are the ways in which every scenario is run: parallelism 1, 2 and 4, bundles of 1 and of 1000, on the fast and on the
// general path; and unfused.
func Modes() []levada.Embedded {
	all := []levada.Embedded{{Parallelism: 2, Unfused: true}}
	for _, general := range []bool{false, true} {
		for _, parallelism := range []int{1, 2, 4} {
			for _, bundle := range []int{1, 1000} {
				all = append(all, levada.Embedded{Parallelism: parallelism, MaxBundle: bundle, GeneralPath: general})
			}
		}
	}
	return all
}

// Report writes what came of files: the diffs, what is disputed, what is not supported yet with the number of files that use it,
// and a closing line. It returns the number of files that failed.
func Report(w io.Writer, all []Verdict) int {
	passed, failed, later := 0, 0, 0
	uses := map[string]int{}
	for _, v := range all {
		switch {
		case len(v.NotYet) > 0:
			later++
			for _, n := range v.NotYet {
				uses[n]++
			}
		case v.Failed:
			failed++
			fmt.Fprint(w, v.Diff)
		default:
			passed++
		}
		for _, d := range v.Disputed {
			fmt.Fprintf(w, "disputed: %s block %d: %s\n", d.File, d.Block, d.Reason)
		}
	}
	names := make([]string, 0, len(uses))
	for n := range uses {
		names = append(names, n)
	}
	sort.Strings(names)
	for _, n := range names {
		fmt.Fprintf(w, "not yet: %s (%d)\n", n, uses[n])
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d not yet\n", passed, failed, later)
	return failed
}
