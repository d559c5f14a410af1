package scenario

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const scenarios = "../../testdata/scenarios"

// files returns the scenario files.
func files(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(scenarios, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 50 {
		t.Fatalf("%d scenario files in %s, want at least 50", len(paths), scenarios)
	}
	return paths
}

func mustRead(t testing.TB, path string) *File {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(path, data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// The format is that of datadriven: on every scenario both readers see the same.
func TestSameAsDatadriven(t *testing.T) {
	for _, path := range files(t) {
		f := mustRead(t, path)
		i := 0
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if i == len(f.Blocks) {
				t.Fatalf("%s: only %d blocks", d.Pos, i)
			}
			b := f.Blocks[i]
			i++
			var args []string
			for _, a := range d.CmdArgs {
				args = append(args, a.String())
			}
			got := fmt.Sprintln(b.Pos(), b.Directive, b.Args, strings.Join(b.Input, "\n")) + strings.Join(b.Expected, "\n")
			want := fmt.Sprintln(d.Pos, d.Cmd, args, d.Input) + strings.TrimSuffix(d.Expected, "\n")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-datadriven +ours):\n%s", d.Pos, diff)
			}
			return d.Expected
		})
		if i != len(f.Blocks) {
			t.Errorf("%s: %d blocks, datadriven has %d", path, len(f.Blocks), i)
		}
	}
}

func TestRewriteIsIdentity(t *testing.T) {
	for _, path := range files(t) {
		f := mustRead(t, path)
		var outputs [][]string
		for _, b := range f.Blocks {
			outputs = append(outputs, slices.Clone(b.Expected))
		}
		for _, outputs := range [][][]string{outputs, nil} {
			if got := f.Rewrite(outputs); !bytes.Equal(got, f.data) {
				t.Errorf("%s: rewritten with its own outputs:\n%s", path, cmp.Diff(string(f.data), string(got)))
			}
		}
	}
}

const sample = `# About the file.

# About the pipeline,
# in two lines.
pipeline
src = script
----
ok


feed
src a 1 @1
clock +1s
----

metrics dropped_late x-1
----
old

# The end.
finish
----
done
`

func TestParse(t *testing.T) {
	f, err := Parse("f.txt", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	want := []Block{
		{Line: 5, Directive: "pipeline", Input: []string{"src = script"}, Expected: []string{"ok"},
			Comment: []string{"# About the pipeline,", "# in two lines."}},
		{Line: 11, Directive: "feed", Input: []string{"src a 1 @1", "clock +1s"}},
		{Line: 16, Directive: "metrics", Args: []string{"dropped_late", "x-1"}, Expected: []string{"old"}},
		{Line: 21, Directive: "finish", Comment: []string{"# The end."}, Expected: []string{"done"}},
	}
	if len(f.Blocks) != len(want) {
		t.Fatalf("%d blocks, want %d", len(f.Blocks), len(want))
	}
	for i := range want {
		w, b := want[i], f.Blocks[i]
		if diff := cmp.Diff(show(w), show(b)); diff != "" {
			t.Errorf("block %d (-want +got):\n%s", i, diff)
		}
		if pos := fmt.Sprintf("f.txt:%d", w.Line); b.Pos() != pos {
			t.Errorf("block %d: Pos() = %s, want %s", i, b.Pos(), pos)
		}
	}
}

func show(b Block) string {
	return fmt.Sprintf("%d %s\ncomment %q\nargs %q\ninput %q\nexpected %q\n",
		b.Line, b.Directive, b.Comment, b.Args, b.Input, b.Expected)
}

func TestRewrite(t *testing.T) {
	f, err := Parse("f.txt", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	got := string(f.Rewrite([][]string{{"error: x y"}, {"one", "two"}, nil}))
	want := sample
	for _, r := range [][2]string{
		{"----\nok\n", "----\nerror: x y\n"},
		{"clock +1s\n----\n", "clock +1s\n----\none\ntwo\n"},
		{"----\nold\n", "----\n"},
	} {
		want = strings.Replace(want, r[0], r[1], 1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, end := range []string{"finish\n----", "finish\n----\n", "finish\n----\nold", "finish\n----\nold\n"} {
		f, err := Parse("f.txt", []byte(end))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(f.Rewrite([][]string{{"done"}})); got != "finish\n----\ndone\n" {
			t.Errorf("%q becomes %q", end, got)
		}
	}
}

// Whatever outputs a file is rewritten with are read back, and nothing else has changed.
func TestRewriteReadsBack(t *testing.T) {
	line := rapid.StringMatching(`[a-z\[\-][a-z0-9 \-,@]{0,5}[a-z0-9]`)
	paths := files(t)
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.SampledFrom(paths).Draw(t, "file")
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := Parse(path, bytes.TrimSuffix(data, []byte("\n")))
		if err != nil {
			t.Fatal(err)
		}
		outputs := rapid.SliceOfN(rapid.SliceOfN(line, 0, 3), 0, len(f.Blocks)).Draw(t, "outputs")
		g, err := Parse(path, f.Rewrite(outputs))
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range f.Blocks {
			if i < len(outputs) {
				b.Expected = outputs[i]
			}
			c := g.Blocks[i]
			b.Line, c.Line = 0, 0
			if diff := cmp.Diff(show(b), show(c)); diff != "" {
				t.Fatalf("block %d (-want +got):\n%s", i, diff)
			}
		}
	})
}

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"\nfrob\n----\n", `f:2: unknown directive "frob"`},
		{"finish now\n----\n", `f:1: finish takes no arguments`},
		{"metrics a=b\n----\n", `f:1: "a=b" is not a name`},
		{"watermarks x \\\n----\n", `f:1: "\\" is not a name`},
		{"finish\nx\n----\n", `f:2: finish takes no input`},
		{"feed\nx\n", `f:1: feed has no "----"`},
		{"feed\nx\n\n----\n", `f:3: a blank line before the "----" of feed`},
		{"feed\n# x\n----\n", `f:2: a comment in the input of feed: comments stand between blocks`},
		{"feed\n----\nx\n# y\nfeed\n----\n", `f:4: a comment in the output of feed: a blank line must end the output`},
		{"feed\n----\n----\nx\n", `f:3: a second "----"`},
		{"feed\n----\nx\r\n", `f:3: a carriage return; lines end with a newline only`},
	} {
		_, err := Parse("f", []byte(tt.in))
		if err == nil || err.Error() != tt.want {
			t.Errorf("%q: error %v, want %s", tt.in, err, tt.want)
		}
	}
}
