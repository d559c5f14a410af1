package scenario

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/levadaflow/levada/event"
)

// block returns a block with the given input, whose first line is line 2 of "f".
func block(directive string, input ...string) *Block {
	return &Block{Line: 1, Directive: directive, Input: input, file: "f"}
}

func word(s string) Expr { return Expr{Name: s} }

func call(name string, args ...Expr) Expr { return Expr{Name: name, Call: true, Args: args} }

func TestParsePipeline(t *testing.T) {
	el := func(k string, v int64, at event.Time) Element { return Element{k, v, at} }
	trigger := Expr{Name: "after-watermark", Call: true, Named: []Option{
		{"early", call("after-count", word("2"))}, {"late", call("after-each", word("never"), call("after-delay", word("5s")))}}}
	for _, tt := range []struct {
		in   string
		want Step
	}{
		{"s = script", Step{Op: "script"}},
		{"s=script", Step{Op: "script"}},
		{"s = group in-1", Step{Op: "group", Inputs: []string{"in-1"}}},
		{"s = flatten a b  c", Step{Op: "flatten", Inputs: []string{"a", "b", "c"}}},
		{"s = side a b", Step{Op: "side", Inputs: []string{"a", "b"}}},
		{"s = late a", Step{Op: "late", Inputs: []string{"a"}}},
		{"s = key a all", Step{Op: "key", Inputs: []string{"a"}, Spec: Key{"all"}}},
		{"s = add a -3", Step{Op: "add", Inputs: []string{"a"}, Spec: Add{-3}}},
		{"s = create a 1 @10s, B 2,c 3 @min", Step{Op: "create", Spec: Create{[]Element{
			el("a", 1, 10000), el("B", 2, event.Min), el("c", 3, event.Min)}}}},
		{"s = with-timestamps a value", Step{Op: "with-timestamps", Inputs: []string{"a"}, Spec: Stamp{Fn: word("value")}}},
		{"s = with-timestamps a shift(-1s) skew=1s", Step{Op: "with-timestamps", Inputs: []string{"a"},
			Spec: Stamp{Fn: call("shift", word("-1s")), Skew: 1000}}},
		{"s = with-timestamps a zero skew=inf", Step{Op: "with-timestamps", Inputs: []string{"a"},
			Spec: Stamp{Fn: word("zero"), Skew: Inf}}},
		{"s = shift-watermark a by=-60 at(max)", Step{Op: "shift-watermark", Inputs: []string{"a"},
			Spec: Shift{By: -60, Fn: call("at", word("max"))}}},
		{"s = window a global", Step{Op: "window", Inputs: []string{"a"}, Spec: Windowing{Fn: word("global")}}},
		{"s = window a days(America/New_York) lateness=0 accumulate=no", Step{Op: "window", Inputs: []string{"a"},
			Spec: Windowing{Fn: call("days", word("America/New_York")), HasLateness: true, Accumulate: "no"}}},
		{"s = window a sliding( 10s, 5s ) lateness=inf unsafe=yes closing=always on-time=non-empty time=latest accumulate=yes " +
			"trigger=after-watermark(early=after-count(2), late=after-each(never,after-delay(5s)))",
			Step{Op: "window", Inputs: []string{"a"}, Spec: Windowing{Fn: call("sliding", word("10s"), word("5s")),
				Lateness: Inf, HasLateness: true, Unsafe: true, Closing: "always", OnTime: "non-empty", Time: "latest",
				Accumulate: "yes", Trigger: trigger}}},
		{"s = window a fixed(0) trigger=after-watermark()", Step{Op: "window", Inputs: []string{"a"},
			Spec: Windowing{Fn: call("fixed", word("0")), Trigger: call("after-watermark")}}},
		{"s = batch a n=3 after=10s", Step{Op: "batch", Inputs: []string{"a"}, Spec: Batch{N: 3, After: 10000}}},
		{"s = batch a n=0 after=-1 domain=processing", Step{Op: "batch", Inputs: []string{"a"},
			Spec: Batch{N: 0, After: -1, Processing: true}}},
		{"s = frobnicate a f(x) k=v", Step{Op: "frobnicate", Spec: Unknown{
			Args: []Expr{word("a"), call("f", word("x"))}, Options: []Option{{"k", word("v")}}}}},
		{"s = poll a 1 @1, b 2 @2 wm=5 resume=3s; ; wm=max; resume=1; done", Step{Op: "poll", Spec: Poll{[]Call{
			{Elements: []Element{el("a", 1, 1), el("b", 2, 2)}, Watermark: 5, Reports: true, Resume: 3000},
			{}, {Watermark: event.Max, Reports: true}, {Resume: 1}, {Done: true}}}}},
		{"s = poll a 1 @1; a 2 @2", Step{Op: "poll", Spec: Poll{[]Call{
			{Elements: []Element{el("a", 1, 1)}}, {Elements: []Element{el("a", 2, 2)}, Done: true}}}}},
		{"s = poll a 1 @1 resume=1s", Step{Op: "poll", Spec: Poll{[]Call{
			{Elements: []Element{el("a", 1, 1)}, Resume: 1000}}}}},
	} {
		tt.want.Line, tt.want.Name = 2, "s"
		got, err := ParsePipeline(block("pipeline", tt.in))
		if err != nil {
			t.Errorf("%s: %v", tt.in, err)
			continue
		}
		if diff := cmp.Diff([]Step{tt.want}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.in, diff)
		}
	}
}

func TestParsePipelineErrors(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"s script", `"s script" is not NAME = OP ARGS`},
		{"S = script", `"S" is not a step's name`},
		{"clock = script", `clock is reserved`},
		{"s = ", `"" is not an operation's name`},
		{"s = script x", `script: unexpected x`},
		{"s = group", `group: want 1 inputs, not 0`},
		{"s = group a b", `group: unexpected b`},
		{"s = group a b=c", `group: unexpected b=`},
		{"s = group f(x)", `group: f(x) is not a step's name`},
		{"s = group watermark", `group: watermark is reserved`},
		{"s = side a", `side: want 2 inputs, not 1`},
		{"s = key a", `key: the key is missing`},
		{"s = key a clock", `key: clock is reserved`},
		{"s = add a 1.5", `add: 1.5 is not an integer`},
		{"s = add a", `add: the number is missing`},
		{"s = with-timestamps a", `with-timestamps: the function is missing`},
		{"s = with-timestamps a now", `with-timestamps: now: want value, shift(D), at(T) or zero`},
		{"s = with-timestamps a value()", `with-timestamps: value(): want value, shift(D), at(T) or zero`},
		{"s = with-timestamps a at(1,2)", `with-timestamps: at(1,2): want value, shift(D), at(T) or zero`},
		{"s = with-timestamps a at(noon)", `with-timestamps: bad time "noon": ` +
			`want milliseconds, a duration in whole milliseconds, min, max or eogw`},
		{"s = shift-watermark a value", `shift-watermark: by= is missing`},
		{"s = shift-watermark a by=inf value", `shift-watermark: bad duration "inf": ` +
			`want milliseconds or a duration in whole milliseconds`},
		{"s = window a", `window: the window function is missing`},
		{"s = window a global accumulate=maybe", `window: accumulate=maybe: want one of yes, no`},
		{"s = window a global time=end time=end", `window: time= is given twice`},
		{"s = window a fixed(1m", `window: a ) is missing in "a fixed(1m"`},
		{"s = window a fixed(1m)x", `window: unexpected "x" in "a fixed(1m)x"`},
		{"s = window a fixed(1m 2m)", `window: unexpected "2" in "a fixed(1m 2m)"`},
		{"s = window a fixed(,)", `window: unexpected "," in "a fixed(,)"`},
		{"s = window a fixed(1m) trigger=", `window: something is missing at the end of "a fixed(1m) trigger="`},
		{"s = window a f(x=1,x=2)", `window: x= is given twice`},
		{"s = window a f(1=2)", `window: "1" is not the name of an option in "a f(1=2)"`},
		{"s = window a " + strings.Repeat("f(", 200), `window: more than 100 nested calls`},
		{"s = batch a n=1", `batch: after= is missing`},
		{"s = batch a n=f(1) after=1", `batch: f(1) is not an integer`},
		{"s = create", `create: "" is not K V or K V @T`},
		{"s = create a 1 1s", `create: "1s" is not a time: it begins with @`},
		{"s = create a b", `create: "b" is not an integer`},
		{"s = create a@b 1", `create: "a@b" is not a key`},
		{"s = create watermark 1", `create: watermark is reserved`},
		{"s = poll a 1", `poll: "a 1" is not K V @T`},
		{"s = poll done; a 1 @1", `poll: done is for the last step, not for "done"`},
		{"s = poll resume=-1", `poll: resume=-1 is negative`},
		{"s = poll resume=1 wm=2", `poll: "resume=1" is not K V @T`},
	} {
		_, err := ParsePipeline(block("pipeline", "ok = script", tt.in))
		if want := "f:3: " + tt.want; err == nil || err.Error() != want {
			t.Errorf("%s: error\n%v, want\n%s", tt.in, err, want)
		}
	}
	if _, err := ParsePipeline(block("feed")); err == nil {
		t.Error("a feed is parsed as a pipeline")
	}
}

func TestParseFeed(t *testing.T) {
	got, err := ParseFeed(block("feed", "src a 1 @14m59.999s", "src watermark max", "clock +11s", "src b -2 @9223372036854776"))
	want := []FeedLine{
		{Line: 2, Kind: Emit, Source: "src", Element: Element{"a", 1, 899999}},
		{Line: 3, Kind: Advance, Source: "src", Watermark: event.Max},
		{Line: 4, Kind: Tick, Step: 11000},
		{Line: 5, Kind: Emit, Source: "src", Element: Element{"b", -2, event.Max + 1}},
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, tt := range []struct{ in, want string }{
		{"src", `"" is not K V @T`},
		{"src a 1", `"a 1" is not K V @T`},
		{"src clock 1 @1", `clock is reserved`},
		{"watermark a 1 @1", `watermark is reserved`},
		{"Src a 1 @1", `"Src" is not a step's name`},
		{"src watermark", `"src watermark" is not SOURCE watermark T`},
		{"src watermark 1 2", `"src watermark 1 2" is not SOURCE watermark T`},
		{"clock", `clock is followed by +D`},
		{"clock 1s", `clock is followed by +D`},
		{"clock +-1s", `clock +-1s: the clock does not go back`},
	} {
		_, err := ParseFeed(block("feed", "clock +1", tt.in))
		if want := "f:3: " + tt.want; err == nil || err.Error() != want {
			t.Errorf("%s: error\n%v, want\n%s", tt.in, err, want)
		}
	}
	if _, err := ParseFeed(block("finish")); err == nil {
		t.Error("a finish is parsed as a feed")
	}
}

// Every block of every scenario parses, and what it says is written back the same.
func TestScenariosParse(t *testing.T) {
	steps, lines := 0, 0
	for _, path := range files(t) {
		f := mustRead(t, path)
		for i := range f.Blocks {
			b := &f.Blocks[i]
			switch b.Directive {
			case "pipeline":
				parsed, err := ParsePipeline(b)
				if err != nil {
					t.Error(err)
				}
				steps += len(parsed)
				for j, s := range parsed {
					if w, ok := s.Spec.(Windowing); ok && !strings.Contains(b.Input[j], " "+w.Fn.String()) {
						t.Errorf("%s: %s has the window function %v", b.Pos(), b.Input[j], w.Fn)
					}
				}
			case "feed":
				parsed, err := ParseFeed(b)
				if err != nil {
					t.Error(err)
				}
				lines += len(parsed)
			}
		}
	}
	if steps < 400 || lines < 400 {
		t.Errorf("only %d steps and %d feed lines", steps, lines)
	}
}

func TestExpr(t *testing.T) {
	const text = "after-watermark(early=repeat(after-count(2)),late=after-any(after-delay(1s),never))"
	e, err := ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	if e.String() != text {
		t.Errorf("written as %v", e)
	}
	late, found := e.Lookup("late")
	if !found || late.String() != "after-any(after-delay(1s),never)" {
		t.Errorf("late is %v, %v", late, found)
	}
	if _, found := e.Lookup("on-time"); found {
		t.Error("found what is not there")
	}
	if ms, err := late.Args[0].Args[0].Duration(); err != nil || ms != 1000 {
		t.Errorf("the delay is %d, %v", ms, err)
	}
	for _, f := range []func() error{
		func() error { _, err := e.Duration(); return err },
		func() error { _, err := e.Bound(); return err },
		func() error { _, err := e.Time(); return err },
		func() error { _, err := e.Int(); return err },
		func() error { _, err := ParseExpr("a b"); return err },
		func() error { _, err := ParseExpr(""); return err },
		func() error { _, err := ParseExpr("a=b"); return err },
		func() error { _, err := ParseExpr("f()\x00"); return err },
	} {
		if f() == nil {
			t.Error("no error")
		}
	}
}

// The parsers never panic, and what an expression is written as is parsed as the same.
func FuzzParse(f *testing.F) {
	for _, path := range files(f) {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("pipeline\ns = window a f( x = 1, (\n----\n\nfeed\nclock +9223372036854775807\n----"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse("f", data)
		if err != nil {
			return
		}
		if got := file.Rewrite(nil); string(got) != string(data) {
			t.Fatalf("rewritten:\n%s", cmp.Diff(string(data), string(got)))
		}
		for i := range file.Blocks {
			b := &file.Blocks[i]
			_, _ = ParseFeed(b)
			steps, _ := ParsePipeline(b)
			for _, s := range steps {
				w, _ := s.Spec.(Windowing)
				u, _ := s.Spec.(Unknown)
				for _, e := range append(u.Args, w.Fn, w.Trigger) {
					if e.IsZero() {
						continue
					}
					again, err := ParseExpr(e.String())
					if err != nil || fmt.Sprintf("%#v", again) != fmt.Sprintf("%#v", e) {
						t.Fatalf("%v is parsed as %#v, %v; it is %#v", e, again, err, e)
					}
				}
			}
		}
	})
}
