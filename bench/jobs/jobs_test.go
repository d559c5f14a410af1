package jobs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const miniLog = `2026-03-01T00:00:10.000Z ann 200 5
2026-03-01T00:00:40.000Z ann 200 7
2026-03-01T00:00:20.500Z ann 404 1
2026-03-01T00:01:05.000Z bob 200 2
2026-03-01T00:03:00.000Z ann 200 9
`

const miniNexmark = `A|1001|i|d|1|2|1767225600000|1767225601000|1000|10|x
A|1002|i|d|1|2|1767225600000|1767225601000|1000|11|x
P|1001|C D|c@d.com|1|Reno|NV|1767225600000|x
A|1003|i|d|1|2|1767225600000|1767225601000|1001|10|x
A|1004|i|d|1|2|1767225609999|1767225610000|1002|11|x
P|1000|A B|a@b.com|1|Bend|OR|1767225600000|x
A|1000|i|d|1|2|1767225600000|1767225601000|1000|10|x
B|1000|7|200|c|u|1767225600000|x
B|1107|7|300|c|u|1767225601000|x
B|1000|8|300|c|u|1767225609999|x
B|1000|7|100|c|u|1767225611000|x
P|1002|E F|e@f.com|1|Reno|NV|1767225611000|x
`

// runOn returns the sorted lines of a job's results.
func runOn(t *testing.T, name, variant, text string) []string {
	t.Helper()
	dir := t.TempDir()
	input := filepath.Join(dir, "input")
	if err := os.WriteFile(input, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	a := Args{Input: input, Output: filepath.Join(dir, "out"), Parallelism: 2}
	if err := os.Mkdir(a.Output, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), name, variant, a); err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob(a.part() + "*")
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// What both programs of a job give is what it should be.
func TestResults(t *testing.T) {
	for name, want := range map[string][]string{
		"log-status": {
			"2026-03-01T00:00:00Z 200 2 12", "2026-03-01T00:00:00Z 404 1 1", "2026-03-01T00:01:00Z 200 1 2",
			"2026-03-01T00:03:00Z 200 1 9",
		},
		"log-user": {"2026-03-01T00:00:00Z ann 3 13", "2026-03-01T00:01:00Z bob 1 2", "2026-03-01T00:03:00Z ann 1 9"},
		"group":    {"2026-03-01T00:00:00Z ann 3 7", "2026-03-01T00:01:00Z bob 1 2", "2026-03-01T00:03:00Z ann 1 9"},
		"sessions": { // the first two only touch; the third is in both
			"2026-03-01T00:00:10.000Z 2026-03-01T00:01:10.000Z ann 3 13",
			"2026-03-01T00:01:05.000Z 2026-03-01T00:01:35.000Z bob 1 2",
			"2026-03-01T00:03:00.000Z 2026-03-01T00:03:30.000Z ann 1 9",
		},
	} {
		for _, variant := range []string{Hand, Levada} {
			if got := runOn(t, name, variant, miniLog); !slices.Equal(got, want) {
				t.Errorf("%s, %s:\n%s\nwant\n%s", name, variant, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
}

// A window of ten minutes is there for each minute that it can begin with.
func TestSliding(t *testing.T) {
	for _, variant := range []string{Hand, Levada} {
		got := runOn(t, "sliding-user", variant, miniLog)
		if len(got) != 23 || got[0] != "2026-02-28T23:51:00Z ann 3 13" || got[22] != "2026-03-01T00:03:00Z ann 1 9" ||
			!slices.Contains(got, "2026-02-28T23:54:00Z ann 4 22") {
			t.Errorf("%s: %d lines\n%s", variant, len(got), strings.Join(got, "\n"))
		}
	}
}

func TestNexmark(t *testing.T) {
	const base = 1767225600000
	rows := map[string][][]int64{
		"q0": {{1000, 7, 200, base}, {1107, 7, 300, base + 1000}, {1000, 8, 300, base + 9999}, {1000, 7, 100, base + 11000}},
		"q1": {{1000, 7, 181, base}, {1107, 7, 272, base + 1000}, {1000, 8, 272, base + 9999}, {1000, 7, 90, base + 11000}},
		"q2": {{1107, 300}},
		"q3": {{textField("A B"), textField("Bend"), textField("OR"), 1000}, {textField("A B"), textField("Bend"), textField("OR"), 1001}},
		"q5": {
			{base + 2000, 1000, 1}, {base + 2000, 1107, 1}, {base + 4000, 1000, 1}, {base + 4000, 1107, 1},
			{base + 6000, 1000, 1}, {base + 6000, 1107, 1}, {base + 8000, 1000, 1}, {base + 8000, 1107, 1},
			{base + 10000, 1000, 2}, {base + 12000, 1000, 2}, {base + 14000, 1000, 2}, {base + 16000, 1000, 2},
			{base + 18000, 1000, 2}, {base + 20000, 1000, 1},
		},
		"q7":  {{1107, 7, 300, base + 1000}, {1000, 8, 300, base + 9999}, {1000, 7, 100, base + 11000}},
		"q8":  {{1001, textField("C D")}, {1000, textField("A B")}},
		"q11": {{7, 2, base, base + 11000}, {8, 1, base + 9999, base + 19999}, {7, 1, base + 11000, base + 21000}},
	}
	for query, all := range rows {
		var want tally
		for _, fields := range all {
			want.row(fields...)
		}
		dir := t.TempDir()
		if err := want.write(Args{Output: dir}, query); err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(filepath.Join(dir, "part"))
		for _, variant := range []string{Hand, Levada} {
			if got := runOn(t, "nexmark-"+query, variant, miniNexmark); got[0]+"\n" != string(text) {
				t.Errorf("%s: %s, want %s", variant, got[0], text)
			}
		}
	}
}

func TestBadNexmark(t *testing.T) {
	for _, line := range []string{"", "B", "X|1|2", "B|1|2|3|c|u|17", "P|1"} {
		if err := new(nexEvent).parse(line); err == nil {
			t.Errorf("%q is an event", line)
		}
		if _, ok := eventTime(line); ok {
			t.Errorf("%q has a time", line)
		}
	}
}
